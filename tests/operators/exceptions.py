"""What PyTorch itself makes different for some operators. Each entry says why."""

# Values that PyTorch does not determine: only their values go uncompared. Random operators are
# not listed, they are known by their use of the generator.
UNDETERMINED = {
    "empty": "uninitialised memory",
    "empty_like": "uninitialised memory",
    "empty_permuted": "uninitialised memory",
    "empty_strided": "uninitialised memory",
    "new_empty": "uninitialised memory",
    "new_empty_strided": "uninitialised memory",
}

# Random operators whose draws seldom show in the result: that another seed gives other numbers is not
# asked of them.
SELDOM_SEEN = {
    "nn.functional.fractional_max_pool2d": "regions move only for draws close to a boundary",
    "nn.functional.fractional_max_pool3d": "regions move only for draws close to a boundary",
}

# Checks that show the CPU wrong: only values go uncompared.
HOST_WRONG = {
    (
        "nn.functional.max_pool1d",
        "negated",
    ): "the kernel without gradients ignores the negative bit",
    (
        "nn.functional.gelu",
        "out_strided",
    ): "oneDNN's kernel writes beside an out with gaps, whose elements stay what they were",
}

# Operators that PyTorch computes by another formula where the device is not the CPU: how far their
# half-precision values may lie apart, relatively and absolutely.
OTHER_FORMULA = {
    # Accumulates in the dtype of the input; the CPU does in float32
    # (torch.nn.modules.linear_cross_entropy_options).
    "nn.functional.linear_cross_entropy.chunked": (2e-2, 6e-2),
    "nn.functional.linear_cross_entropy.chunked_none": (2e-2, 6e-2),
    # Where a device keeps means and scales in float32; the CPU rounds them to the dtype of the input.
    "nn.functional.layer_norm": (2e-2, 2e-2),
    "native_layer_norm": (2e-2, 2e-2),
    # Where a device adds up in float32; the CPU rounds the logarithm of the sum to the dtype of the input.
    "log_softmax": (2e-2, 6e-3),
    # Where a device adds up in float32; the CPU does in float16, of a single row.
    "nn.functional.linear": (2e-2, 1e-3),
    # Where a device computes scores in float32; the CPU does in float16, of single queries.
    "nn.functional.scaled_dot_product_attention": (2e-2, 1e-3),
}

# Operators that make more of the rounding of their parts: how far their float32 values may lie apart where a
# product or a sum was added up in another order.
AMPLIFIES = {
    # Divides by differences of its inputs; against float64 both are equally far off.
    "linalg.householder_product": (1e-3, 1e-3),
    # Differences of sums: gradients of weights of which the true one is 0 are what rounding left.
    "cov": (1e-5, 5e-4),
    "nn.functional.gaussian_nll_loss": (1e-5, 2e-4),
    # Products of products, and the softmax of numbers in the thousands: against float64 both are equally far off.
    "linalg.multi_dot": (1e-5, 1e-4),
    "nn.functional.multi_head_attention_forward": (5e-4, 1e-2),
    # Gradients of rows of one or two elements, of which the true one is 0, are what rounding left.
    "native_layer_norm": (1e-5, 1e-4),
    # Its gradient sums elements that are large and of both signs.
    "pow": (5e-6, 1e-5),
}

# Operators that PyTorch composes of others where the device is not the CPU: their strides go uncompared.
OTHER_COMPOSITION = {
    # at::max_pool1d: max_pool1d_with_indices unless self.is_cpu(), whose result is laid out as max_pool2d's
    "nn.functional.max_pool1d": "without gradients the CPU has a kernel of its own",
}

# Operators that make a CPU tensor on every device when no device is named: it is always named.
FACTORIES = {
    "arange",
    "linspace",
    "linspace.tensor_overload",
    "logspace",
    "logspace.tensor_overload",
}

# Operators whose arguments after the first stay on the CPU.
HOST_ARGUMENTS = {
    "tensor_split": "PyTorch wants tensor_indices_or_sections on the CPU, for every device",
}

# Operators whose error inputs hold data that are wrong: a call that only enqueues cannot know.
REFUSED_BY_DATA = {
    "gather": "an index out of bounds",
    "scatter": "an index out of bounds",
    "scatter_add": "an index out of bounds",
}
