"""The names of the checks, for the driver, which does not import torch."""

CHECK_NAMES = (
    "forward",
    "repeat",
    "noncontiguous",
    "conjugated",
    "negated",
    "layouts",
    "view",
    "random",
    "inplace",
    "out",
    "out_resized",
    "out_strided",
    "out_wrong_shape",
    "out_wrong_dtype",
    "backward",
    "noncontiguous_backward",
    "layouts_backward",
    "inplace_backward",
    "errors",
    "refusals",
)
