"""What random programs are made of: each function adds one line to the program of a Generator, or gives None."""


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


# Of a real x: what gives the same wherever it is computed, what is close, and what only exact values are good for.
SAME = lines("""
    -{x}
    {x}.abs()
    {x}.relu()
    torch.clamp({x}, -1, 1.5)
    F.hardtanh({x})
    {x}.clamp(min=-0.1)
    {x}.clamp(max=0.7)
""")
CLOSE = lines("""
    {x}.tanh()
    {x}.sigmoid()
    {x}.sin()
    {x}.cos()
    {x}.clamp(-30, 30).erf()
    {x}.atan()
    F.gelu({x}.clamp(-30, 30))
    F.gelu({x}, approximate='tanh')
    F.silu({x})
    F.elu({x})
    F.leaky_relu({x}, 0.1)
    (-{x}.abs()).exp()
    {x}.abs().log1p()
    ({x}.abs() + 0.5).log()
    ({x}.abs() + 0.5).rsqrt()
    ({x}.abs() + 1).reciprocal()
    F.softplus({x})
    F.logsigmoid({x})
    {x}.asinh()
    F.hardswish({x})
    F.hardsigmoid({x})
    {x}.square()
    {x} ** 3
    ({x}.abs() + 0.1) ** -1.5
""")
STEEP = lines("""
    {x}.log()
    {x}.sqrt()
    {x}.exp()
    {x}.reciprocal()
    {x}.rsqrt()
    {x}.expm1()
    {x}.log1p()
    {x}.acos()
    {x}.sinh()
    {x}.exp2()
    {x}.log2()
""")
ROUNDED = ["floor", "ceil", "round", "trunc", "sign"]
# Of a real x and a number: one operation that IEEE rounds once.
SINGLE = lines("""
    {x} + 0.3
    {x} * -1.7
    1 - {x}
    {x} / 3
    {x} ** 2
    2 / ({x}.abs() + 1)
    {x} + 2
    {x} * 0
""")
INTEGER = lines("""
    {x} + 3
    {x} * -2
    5 - {x}
    {x} // 3
    {x} // -2
    {x} % 4
    {x} ** 2
    {x}.clamp(-2, 5)
    {x}.clamp_min(1)
    {x}.abs()
    torch.fmod({x}, 3)
    torch.sign({x})
    ~{x}
    -{x}
""")
# Of x and y; what is exact if they are, what is so unless results have 16 bits, and what is close.
BINARY_SAME = ["torch.maximum({x}, {y})", "torch.minimum({x}, {y})"]
BINARY_SINGLE = ["{x} + {y}", "{x} * {y}", "{x} - {y}", "{x} / ({y}.abs() + 1)"]
BINARY_CLOSE = ["torch.add({x}, {y}, alpha=0.5)", "torch.atan2({x}, {y}.abs() + 1)"]
# By what is subnormal PyTorch's remainders are NaN in vectors and numbers elsewhere.
BINARY_STEEP = lines("""
    {x} / {y}
    torch.fmod({x}, {y}.masked_fill({y}.abs() < 1e-30, 0))
    torch.remainder({x}, {y}.masked_fill({y}.abs() < 1e-30, 0))
    torch.div({x}, {y}, rounding_mode='trunc')
    torch.div({x}, {y}, rounding_mode='floor')
""")
BINARY_INTEGER = ["{x} + {y}", "{x} * {y}", "torch.maximum({x}, {y})", "torch.minimum({x}, {y})"]
BINARY_BOOL = ["{x} | {y}", "{x} & {y}", "{x} ^ {y}", "{x} + {y}", "{x} * {y}"]
COMPARED = ["<", ">=", "==", "!=", ">", "<="]
CREATED = [
    ("torch.zeros(a, b, device=v0.device, dtype=f32)", "f32", ("a", "b")),
    ("torch.arange(b, device=v0.device)", "i64", ("b",)),
    ("torch.arange(a, device=v0.device, dtype=f32)[:, None] * 0.5", "f32", ("a", "1")),
    ("torch.full((a, b), 3, device=v0.device)", "i64", ("a", "b")),
    ("torch.full((a, b), 0.1, device=v0.device, dtype=bf16)", "bf16", ("a", "b")),
    ("torch.ones(b, device=v0.device, dtype=b8)", "b8", ("b",)),
    ("torch.arange(0, b, 1, device=v0.device, dtype=bf16)", "bf16", ("b",)),
]


def broadcast(a, b):
    """The common shape, or None."""
    made = []
    for i in range(1, max(len(a), len(b)) + 1):
        x, y = (s[-i] if i <= len(s) else "1" for s in (a, b))
        if x != y and "1" not in (x, y):
            return None
        made.insert(0, y if x == "1" else x)
    return tuple(made)


def promoted(x, y):
    """The dtype of x + y; a tensor without dims counts only if it is of a higher kind."""
    kind = {"b8": 0, "i64": 1, "bf16": 2, "f32": 2, "f64": 2}
    if bool(x.shape) != bool(y.shape):
        large, small = (x, y) if x.shape else (y, x)
        return large.dtype if kind[large.dtype] >= kind[small.dtype] else small.dtype
    if kind[x.dtype] != kind[y.dtype]:
        return max(x.dtype, y.dtype, key=kind.get)
    return next(d for d in ("f64", "f32", x.dtype) if d in (x.dtype, y.dtype))


# ---- elements ----


def unary(g):
    v = g.real()
    table = g.random.choice([SAME, CLOSE, CLOSE, STEEP if v.exact else CLOSE])
    text = g.random.choice(table).format(x=v.name)
    return g.emit(text, v.dtype, v.shape, table is SAME and v.exact)


def rounding(g):
    v = g.real(lambda v: v.exact)
    if v is None:
        return None
    if g.random.random() < 0.3:
        return g.emit(f"{v.name}.{g.random.choice(['isnan', 'isinf'])}()", "b8", v.shape, True)
    return g.emit(f"{v.name}.{g.random.choice(ROUNDED)}()", v.dtype, v.shape, True)


def number(g):
    v = g.pick(lambda v: v.dtype != "b8")
    table = INTEGER if v.dtype == "i64" else SINGLE
    exact = v.exact and v.dtype != "bf16"
    return g.emit(g.random.choice(table).format(x=v.name), v.dtype, v.shape, exact)


def binary(g):
    x, y, shape = g.pair()
    dtype, exact = promoted(x, y), x.exact and y.exact
    if dtype in ("b8", "i64"):
        tables = [BINARY_BOOL if dtype == "b8" else BINARY_INTEGER]
    else:
        tables = [BINARY_SAME, BINARY_SINGLE, BINARY_SINGLE, BINARY_CLOSE]
        if exact and dtype != "bf16":
            tables.append(BINARY_STEEP)
    table = g.random.choice(tables)
    text = g.random.choice(table)
    if "b8" in (x.dtype, y.dtype) and dtype != "b8":
        text = "{x} * {y}"  # PyTorch subtracts no bool
        table = BINARY_SINGLE
    if table is BINARY_CLOSE or (table is BINARY_SINGLE and "bf16" in (dtype, y.dtype)):
        exact = False
    return g.emit(text.format(x=x.name, y=y.name), dtype, shape, exact)


def comparison(g):
    how = g.random.choice(COMPARED)
    if g.random.random() < 0.4:
        v = g.pick(lambda v: v.exact and v.dtype != "b8")
        if v is None:
            return None
        other = g.random.choice(["0.1", "0", "2", "-0.7"])
        return g.emit(f"{v.name} {how} {other}", "b8", v.shape, True)
    found = g.pair(lambda v: v.exact)
    if found is None:
        return None
    x, y, shape = found
    if g.random.random() < 0.4:
        name = g.random.choice(["and", "or", "xor"])
        return g.emit(f"torch.logical_{name}({x.name}, {y.name})", "b8", shape, True)
    return g.emit(f"{x.name} {how} {y.name}", "b8", shape, True)


def where(g):
    mask = g.pick(lambda v: v.dtype == "b8")
    x = mask and g.pick(lambda v: v is not mask and broadcast(mask.shape, v.shape) is not None)
    if not x:
        return None
    shape, exact = broadcast(mask.shape, x.shape), x.exact and mask.exact
    fill = {"i64": "7", "b8": "True"}.get(x.dtype, "-0.3")
    how = g.random.choice(["number", "fill", "tensor"])
    if how == "fill" and shape == x.shape:
        return g.emit(f"{x.name}.masked_fill({mask.name}, {fill})", x.dtype, shape, exact)
    if how == "number":
        return g.emit(f"torch.where({mask.name}, {x.name}, {fill})", x.dtype, shape, exact)
    y = g.pick(lambda v: broadcast(shape, v.shape) is not None)
    text = f"torch.where({mask.name}, {x.name}, {y.name})"
    return g.emit(text, promoted(x, y), broadcast(shape, y.shape), exact and y.exact)


def convert(g):
    v, to = g.pick(), g.random.choice(["f32", "f64", "bf16", "i64", "b8"])
    if v.is_real and to in ("i64", "b8"):
        if not v.exact:
            return None
        bounded = ".nan_to_num(0.5, 3.0, -3.0).clamp(-100, 100)" if to == "i64" else ""
        return g.emit(f"{v.name}{bounded}.to({to})", to, v.shape, True)
    return g.emit(f"{v.name}.to({to})", to, v.shape, v.exact)


# ---- shapes ----


def sizes(shape):
    return "(" + "".join(f"{size}, " for size in shape) + ")"


def turned(g):
    v = g.pick(lambda v: len(v.shape) >= 2)
    if v is None:
        return None
    order = g.random.sample(range(len(v.shape)), len(v.shape))
    text = f".permute({', '.join(map(str, order))})"
    return g.view(v, text, [v.shape[i] for i in order])


def reshaped(g):
    v = g.pick(lambda v: len(v.shape) > 0)
    s, d = list(v.shape), g.random.randrange(len(v.shape))
    how = g.random.choice(["flat", "longer", "unsqueeze", "squeeze", "expand"])
    if how == "flat" and len(s) >= 2:
        return g.view(v, ".reshape(-1)", ["*".join(f"({size})" for size in s)])
    if how == "longer" and len(s) < 3:
        grown = [*s[:d], "1", *s[d:]]
        return g.view(v, f".reshape{sizes(grown)}", grown)
    if how == "unsqueeze" and len(s) < 4:
        return g.view(v, f".unsqueeze({d})", [*s[:d], "1", *s[d:]])
    if how == "squeeze" and s[d] == "1":
        return g.view(v, f".squeeze({d})", s[:d] + s[d + 1 :])
    if how == "expand" and "1" in s:
        grown = [g.random.choice(["3", "a", "b"]) if size == "1" else size for size in s]
        return g.view(v, f".expand{sizes(grown)}", grown)
    return None


def part(g):
    v = g.pick(lambda v: len(v.shape) > 0)
    s, d = list(v.shape), g.random.randrange(len(v.shape))
    front, is_open = ":, " * d, s[d] in ("a", "b")
    how = g.random.choice(["from", "to", "step", "first", "last", "chunk"])
    if how == "from" and is_open:
        return g.view(v, f"[{front}1:]", [*s[:d], f"({s[d]} - 1)", *s[d + 1 :]])
    if how == "to" and is_open:
        return g.view(v, f"[{front}:-1]", [*s[:d], f"({s[d]} - 1)", *s[d + 1 :]])
    if how == "step" and is_open:
        return g.view(v, f"[{front}::2]", [*s[:d], f"(({s[d]} + 1)//2)", *s[d + 1 :]])
    if how in ("first", "last") and s[d] in ("a", "b", "2", "3", "4"):
        place = 0 if how == "first" else -1
        return g.view(v, f".select({d}, {place})", s[:d] + s[d + 1 :])
    if how == "chunk" and s[d] in ("2", "4"):
        half = str(int(s[d]) // 2)
        return g.view(v, f".chunk(2, {d})[1]", [*s[:d], half, *s[d + 1 :]])
    return None


def rearranged(g):
    v = g.pick(lambda v: len(v.shape) > 0)
    s, d = list(v.shape), g.random.randrange(len(v.shape))
    how = g.random.choice(["flip", "roll", "repeat", "pad", "triangle", "clone"])
    text = {"flip": f".flip({d})", "roll": f".roll(1, {d})", "clone": ".clone()"}.get(how, "")
    if how == "repeat" and s[d] in ("a", "b"):
        times = ["2" if i == d else "1" for i in range(len(s))]
        s[d] = f"2*{s[d]}"
        text = f".repeat({', '.join(times)})"
    if how == "triangle" and len(s) >= 2:
        text = f".{g.random.choice(['tril', 'triu'])}({g.random.choice([-1, 0, 1])})"
    if how == "pad" and v.is_real:
        s[-1] = f"({s[-1]} + 3)"
        return g.emit(f"F.pad({v.name}, (1, 2), value=0.5)", v.dtype, s, v.exact)
    return g.emit(f"{v.name}{text}", v.dtype, s, v.exact) if text else None


def joined(g):
    v = g.pick(lambda v: len(v.shape) > 0)
    y = g.pick(lambda o: o.shape == v.shape)
    s, d = list(v.shape), g.random.randrange(len(v.shape))
    dtype, exact = promoted(v, y), v.exact and y.exact
    if g.random.random() < 0.4 and len(s) < 4:
        grown = [*s[:d], "2", *s[d:]]
        return g.emit(f"torch.stack([{v.name}, {y.name}], {d})", dtype, grown, exact)
    s[d] = {"1": "2", "a": "2*a", "b": "2*b"}.get(s[d], f"(2*({s[d]}))")
    return g.emit(f"torch.cat([{v.name}, {y.name}], {d})", dtype, s, exact)


# ---- reductions ----


def reduction(g):
    v = g.pick(lambda v: len(v.shape) > 0)
    dims = sorted(g.random.sample(range(len(v.shape)), g.random.randint(1, len(v.shape))))
    keep = g.random.random() < 0.5
    shape = ["1" if i in dims else size for i, size in enumerate(v.shape) if keep or i not in dims]
    if v.dtype == "b8":
        how, dtype, exact = g.random.choice([("sum", "i64", True), ("any", "b8", True)])
    elif v.dtype == "i64":
        how, dtype, exact = g.random.choice(["sum", "amax", "amin"]), "i64", True
    else:
        how = g.random.choice(["sum", "mean", "amax", "amin", "var", "logsumexp"])
        dtype, exact = v.dtype, how in ("amax", "amin")
    if how == "var":
        text = f"{v.name}.var({dims}, correction=0, keepdim={keep})"
    else:
        text = f"{v.name}.{how}({dims}, keepdim={keep})"
    return g.emit(text, dtype, shape, exact and v.exact)


def extreme(g):
    """With its index; of equal whole numbers PyTorch may give the index of any."""
    v = g.pick(lambda v: v.exact and v.is_real and len(v.shape) > 0)
    if v is None:
        return None
    d = g.random.randrange(len(v.shape))
    rest = v.shape[:d] + v.shape[d + 1 :]
    how = g.random.choice(["argmax", "argmin", "max", "min"])
    if how.startswith("arg"):
        return g.emit(f"{v.name}.{how}({d})", "i64", rest, True)
    place = g.random.choice([0, 1])
    return g.emit(f"{v.name}.{how}({d})[{place}]", "i64" if place else v.dtype, rest, True)


def norm(g):
    v = g.real(lambda v: len(v.shape) > 0)
    if v is None:
        return None
    d, width = g.random.randrange(len(v.shape)), v.shape[-1]
    text = g.random.choice(
        [
            f"{v.name}.softmax({d})",
            f"{v.name}.log_softmax({d})",
            f"F.layer_norm({v.name}, ({width},), eps=0.1)",
            f"F.rms_norm({v.name}, ({width},), eps=0.1)",
        ]
    )
    return g.emit(text, v.dtype, v.shape, False)


# ---- indices ----


def indexed(g):
    v = g.pick(lambda v: v.shape and v.shape[0] in ("a", "b"))
    if v is None:
        return None
    index, rest = g.index_of[v.shape[0]].name, v.shape[1:]
    how = g.random.choice(["[]", "index_select", "embedding", "gather", "pairs"])
    if how == "gather" and v.shape == ("a", "b"):
        return g.emit(f"{v.name}.gather(0, {g.wide_index.name})", v.dtype, ("3", "b"), v.exact)
    if how == "embedding" and len(rest) == 1 and v.is_real:
        return g.emit(f"F.embedding({index}, {v.name})", v.dtype, ("4", *rest), v.exact)
    if how == "pairs" and rest and rest[0] in ("a", "b"):
        other = f"{g.index_of[rest[0]].name} - {rest[0]}"  # from the end
        text = f"{v.name}[{index}[:, None], {other}]"
        return g.emit(text, v.dtype, ("4", "4", *rest[1:]), v.exact)
    text = f".index_select(0, {index})" if how == "index_select" else f"[{index}]"
    return g.emit(v.name + text, v.dtype, ("4", *rest), v.exact)


def scattered(g):
    v = g.real(lambda v: v.shape == ("a", "b"))
    if v is None:
        return None
    index = g.index_of["a"].name
    tall = g.pick(lambda o: o.shape == ("3", "b") and o.dtype == v.dtype)
    rows = g.pick(lambda o: o.shape == ("4", "b") and o.dtype == v.dtype)
    found = [
        (f"scatter(0, {g.wide_index.name}, 0.7)", v.exact),
        (f"index_fill(0, {index}, -2.5)", v.exact),
    ]
    if tall:
        found = [(f"scatter_add(0, {g.wide_index.name}, {tall.name})", False)]
    if rows:
        found += [
            (f"index_add(0, {index}, {rows.name})", False),
            (f"index_put(({index},), {rows.name}, accumulate=True)", False),
        ]
    text, exact = g.random.choice(found)
    return g.emit(f"{v.name}.{text}", v.dtype, v.shape, exact)


# ---- the rest ----


def created(g):
    text, dtype, shape = g.random.choice(CREATED)
    return g.emit(text, dtype, shape, True)


def written(g):
    """Into an input, or what was computed."""
    target = g.real(lambda v: v.shape == ("a", "b") and v.name == v.base)
    if target is None:
        return None
    name = target.name
    source = g.pick(lambda v: v.is_real and broadcast(("a", "b"), v.shape) == ("a", "b")).name
    text = g.random.choice(
        [
            f"{name}.add_({source})",
            f"{name}.mul_(0.5)",
            f"{name}.copy_({source})",
            f"{name}[1:].mul_(2)",
            f"{name}[:, 0] = 0.25",
            f"{name}[..., ::2].add_(1)",
            f"{name}.relu_()",
            f"{name}.t().fill_(-0.5)",
        ]
    )
    return g.write(target, text)


def product(g):
    v = g.real(lambda v: len(v.shape) == 2 and v.exact)
    if v is None:
        return None
    other = g.real(lambda o: o.shape == v.shape and o.dtype == v.dtype).name
    shape = (v.shape[0], v.shape[0])
    return g.emit(f"({v.name} * 0.2) @ {other}.t()", v.dtype, shape, False)


def unlisted(g):
    v = g.real(lambda v: len(v.shape) > 0)
    if v is None:
        return None
    text = f"{v.name}.cumsum({g.random.randrange(len(v.shape))})"
    return g.emit(text, v.dtype, v.shape, False)


KINDS = [
    (unary, 6),
    (rounding, 2),
    (number, 3),
    (binary, 6),
    (comparison, 3),
    (where, 2),
    (convert, 2),
    (turned, 2),
    (reshaped, 2),
    (part, 2),
    (rearranged, 2),
    (joined, 2),
    (reduction, 4),
    (extreme, 1),
    (norm, 2),
    (indexed, 2),
    (scattered, 2),
    (created, 1),
    (written, 2),
    (product, 0.7),
    (unlisted, 0.3),
]
