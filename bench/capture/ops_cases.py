"""Single operators with shapes and types, in groups, for ops_sweep.py.

A case knows how to allocate its inputs (make) and then gives a function that runs the operator once.
tf32 is fp32 data with TF32 allowed in matrix products and convolutions; fp32 forbids it.
"""
import torch
import torch.nn.functional as F

DEVICE = "cuda"
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
          "fp64": torch.float64, "int64": torch.int64, "int32": torch.int32, "uint8": torch.uint8,
          "bool": torch.bool}
FLOATS = ("fp32", "fp16", "bf16")
LARGE = 2 ** 23
aten = torch.ops.aten


class Case:
    """`make()` allocates the inputs and returns the function to measure."""

    def __init__(self, op, dtype, shapes, make, attrs):
        self.op = op
        self.dtype = dtype
        self.shapes = [list(shape) for shape in shapes]
        self.make = make
        self.attrs = attrs


def rand(shape, dtype="fp32"):
    kind = DTYPES[dtype]
    if kind.is_floating_point:
        return torch.randn(shape, device=DEVICE).to(kind)
    return torch.randint(0, 2, shape, device=DEVICE).to(kind)


def allow_tf32(dtype):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"


def random_inputs(shapes, dtype, types, prepare):
    inputs = [rand(shape, kind) for shape, kind in zip(shapes, types or [dtype] * len(shapes))]
    return [prepare(x) for x in inputs] if prepare else inputs


def simple(op, dtype, shapes, fn, types=None, prepare=None, **attrs):
    """fn(random tensors of the given shapes).

    types gives each input a type of its own, prepare changes the inputs before the measurement.
    """
    def make():
        inputs = random_inputs(shapes, dtype, types, prepare)

        def run():
            allow_tf32(dtype)
            return fn(*inputs)
        return run
    return Case(op, dtype, shapes, make, attrs)


def backward(op, dtype, shapes, fn, types=None, prepare=None, **attrs):
    """Only the backward pass of fn, for all inputs."""
    def make():
        allow_tf32(dtype)
        inputs = [x.requires_grad_() for x in random_inputs(shapes, dtype, types, prepare)]
        out = fn(*inputs)
        gradient = torch.randn_like(out)

        def run():
            allow_tf32(dtype)
            return torch.autograd.grad(out, inputs, gradient, retain_graph=True)
        return run
    return Case(op + "_backward", dtype, shapes, make, attrs)


def both(op, dtype, shapes, fn, **options):
    """Forward case and backward case."""
    yield simple(op, dtype, shapes, fn, **options)
    yield backward(op, dtype, shapes, fn, **options)


# ---------------------------------------------------------------- pointwise

UNARY = {
    "relu": torch.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "exp": torch.exp,
    "log": lambda x: torch.log(x), "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "neg": torch.neg,
    "abs": torch.abs, "square": lambda x: x ** 2, "pow3.5": lambda x: x ** 3.5, "reciprocal": torch.reciprocal,
    "clamp": lambda x: torch.clamp(x, -1, 1), "relu6": F.relu6, "leaky_relu": F.leaky_relu,
    "hardswish": F.hardswish, "erf": torch.erf, "sin": torch.sin, "softplus": F.softplus,
    "add_scalar": lambda x: x + 1.5, "mul_scalar": lambda x: x * 1.5, "div_scalar": lambda x: x / 3,
    "gt_scalar": lambda x: x > 0, "isfinite": torch.isfinite, "fill_": lambda x: x.fill_(1),
    "dropout": lambda x: F.dropout(x, 0.1, True), "normal_": lambda x: x.normal_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5), "uniform_": lambda x: x.uniform_(),
}
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "eq": torch.eq, "add_alpha": lambda a, b: torch.add(a, b, alpha=0.1), "add_": lambda a, b: a.add_(b),
    "lerp_scalar": lambda a, b: torch.lerp(a, b, 0.1), "atan2": torch.atan2,
    "relu_backward": lambda g, x: aten.threshold_backward(g, x, 0),
    "gelu_backward": lambda g, x: aten.gelu_backward(g, x),
    "tanh_backward": lambda g, y: aten.tanh_backward(g, y),
    "sigmoid_backward": lambda g, y: aten.sigmoid_backward(g, y),
    "silu_backward": lambda g, x: aten.silu_backward(g, x),
    "relu6_backward": lambda g, x: aten.hardtanh_backward(g, x, 0.0, 6.0),
}
TERNARY = {
    "addcmul": torch.addcmul, "addcdiv": torch.addcdiv, "lerp": torch.lerp,
    "where": lambda a, b, c: torch.where(a > 0, b, c),
}


def functors():
    for dtype in FLOATS:
        for count, table in ((1, UNARY), (2, BINARY), (3, TERNARY)):
            for name, fn in table.items():
                yield simple(name, dtype, [(LARGE,)] * count, fn)
    for dtype in ("int64", "int32", "uint8", "bool", "fp64"):
        yield simple("eq", dtype, [(LARGE,)] * 2, torch.eq)
        yield simple("fill_", dtype, [(LARGE,)], UNARY["fill_"])
        if dtype != "bool":
            yield simple("add", dtype, [(LARGE,)] * 2, torch.add)


LAYOUTS = {
    "offset1": lambda x: x.reshape(-1)[1:], "offset2": lambda x: x.reshape(-1)[2:],
    "every2nd": lambda x: x.reshape(-1)[::2], "transposed": lambda x: x.t(),
}


def layouts():
    """Vector width: shifted starts, strides and transposed inputs change the kernel."""
    shape = (2048, 4096)
    for dtype in ("fp32", "fp16"):
        for layout, view in LAYOUTS.items():
            for name in ("relu", "gelu", "mul_scalar"):
                fn = UNARY[name]
                yield simple(name, dtype, [shape], lambda x, fn=fn, view=view: fn(view(x)), layout=layout)
            for name in ("add", "relu_backward"):
                fn = BINARY[name]
                yield simple(name, dtype, [shape] * 2,
                             lambda a, b, fn=fn, view=view: fn(view(a), view(b)), layout=layout)
        yield simple("add", dtype, [shape, shape[::-1]], lambda a, b: a + b.t(), layout="one transposed")


def sizes():
    """From one block to far beyond the L2 cache; odd sizes leave a tail."""
    for dtype in ("fp32", "fp16"):
        for power in (8, 10, 12, 14, 16, 18, 20, 22, 24, 26):
            yield simple("add", dtype, [(2 ** power,)] * 2, torch.add)
            yield simple("gelu", dtype, [(2 ** power,)], F.gelu)
        for count in (1, 1000, 100003, 5000001):
            yield simple("add", dtype, [(count,)] * 2, torch.add)
    yield simple("add_scalar_", "int64", [(1,)], lambda x: x.add_(1))


def broadcasts():
    pairs = [((2048, 3072), (3072,)), ((32, 256, 56, 56), (1, 256, 1, 1)), ((4096, 1), (1, 2048)),
             ((4096, 2048), (4096, 1)), ((16, 12, 128, 128), (16, 1, 1, 128)), ((2048, 3072), (1,))]
    for dtype in ("fp32", "fp16"):
        for left, right in pairs:
            yield simple("add", dtype, [left, right], torch.add, layout="broadcast")
            yield simple("mul", dtype, [left, right], torch.mul, layout="broadcast")
    yield simple("add", "fp16", [(LARGE,)] * 2, torch.add, types=["fp16", "fp32"], layout="mixed types")
    yield simple("mul", "bf16", [(LARGE,)] * 2, torch.mul, types=["bf16", "fp32"], layout="mixed types")
    yield simple("masked_fill", "fp32", [(16, 12, 128, 128), (16, 1, 1, 128)],
                 lambda x, m: x.masked_fill(m, -1e9), types=["fp32", "bool"])


def pointwise():
    for part in (functors, layouts, sizes, broadcasts):
        yield from part()


# ---------------------------------------------------------------- copies and casts

def casts():
    pairs = ["fp32 fp16", "fp32 bf16", "fp16 fp32", "bf16 fp32", "fp16 bf16", "fp32 fp64", "int64 fp32",
             "int64 int32", "bool fp32", "fp32 bool", "uint8 fp32", "fp32 int64"]
    for pair in pairs:
        source, target = pair.split()
        for count in (2 ** 14, 2 ** 18, LARGE):
            yield simple("cast", source, [(count,)], lambda x, t=target: x.to(DTYPES[t]), to=target)


MOVES = {
    "transpose": ((4096, 4096), lambda x: x.t().contiguous()),
    "transpose_small": ((512, 512), lambda x: x.t().contiguous()),
    "batch_transpose": ((192, 128, 64), lambda x: x.transpose(1, 2).contiguous()),
    "heads": ((16, 128, 12, 64), lambda x: x.permute(0, 2, 1, 3).contiguous()),
    "nchw_to_nhwc": ((32, 256, 56, 56), lambda x: x.contiguous(memory_format=torch.channels_last)),
    "nhwc_to_nchw": ((32, 56, 56, 256), lambda x: x.permute(0, 3, 1, 2).contiguous()),
    "strided": ((4096, 4096), lambda x: x[:, ::2].contiguous()),
    "rows": ((4096, 4096), lambda x: x[::2].contiguous()),
    "columns": ((4096, 4096), lambda x: x[:, :1000].contiguous()),
    "expand": ((4096, 1), lambda x: x.expand(4096, 2048).contiguous()),
    "pad": ((32, 64, 56, 56), lambda x: F.pad(x, (1, 1, 1, 1))),
    "roll": ((32, 56, 56, 96), lambda x: torch.roll(x, (3, 3), (1, 2))),
    "flip": ((2048, 4096), lambda x: x.flip(1)),
    "repeat": ((64, 1024), lambda x: x.repeat(16, 2)),
    "slice_write": ((4096, 4096), lambda x: x[:, 1:1001].copy_(x[:, 2001:3001])),
}


def moves():
    for dtype in ("fp32", "fp16"):
        for name, (shape, fn) in MOVES.items():
            yield simple("copy_" + name, dtype, [shape], fn)
        for parts in (2, 8, 27):
            yield simple("cat0", dtype, [(2048, 128)] * parts, lambda *x: torch.cat(x, 0))
            yield simple("cat1", dtype, [(2048, 128)] * parts, lambda *x: torch.cat(x, 1))
            yield simple("stack1", dtype, [(2048, 128)] * parts, lambda *x: torch.stack(x, 1))
        yield simple("cat1", dtype, [(32, 64, 56, 56), (32, 128, 56, 56)], lambda *x: torch.cat(x, 1))
        yield backward("cat1", dtype, [(2048, 128)] * 8, lambda *x: torch.cat(x, 1))


def copies():
    yield from casts()
    yield from moves()


# ---------------------------------------------------------------- reductions

REDUCTIONS = {
    "mean": lambda x, d: x.mean(d), "amax": lambda x, d: x.amax(d), "argmax": lambda x, d: x.argmax(d),
    "max": lambda x, d: x.max(d), "var": lambda x, d: x.var(d), "norm": lambda x, d: x.norm(dim=d),
    "prod": lambda x, d: x.prod(d), "logsumexp": lambda x, d: x.logsumexp(d), "any": lambda x, d: (x > 3).any(d),
    "cumsum": lambda x, d: x.cumsum(d),
}


def reductions():
    shapes = [(8192, 1024), (1024, 8192), (128, 65536), (8, 2 ** 20), (2 ** 20, 8), (65536, 64), (2048, 768),
              (2048, 30522), (64, 64)]
    for dtype in ("fp32", "fp16"):
        for shape in shapes:
            for dim in (0, 1):
                yield simple("sum", dtype, [shape], lambda x, d=dim: x.sum(d), dim=dim)
        for count in (1000, 2 ** 16, 2 ** 20, LARGE, 2 ** 25):
            yield simple("sum", dtype, [(count,)], torch.sum, dim="all")
        yield simple("sum", dtype, [(32, 256, 56, 56)], lambda x: x.sum((0, 2, 3)), dim="channels")
        yield simple("mean", dtype, [(32, 2048, 7, 7)], lambda x: x.mean((2, 3)), dim="pixels")
    for name, fn in REDUCTIONS.items():
        for dtype in ("fp32", "fp16"):
            for dim in (0, 1):
                yield simple(name, dtype, [(8192, 1024)], lambda x, fn=fn, d=dim: fn(x, d), dim=dim)
    yield simple("sum", "int64", [(8192, 1024)], lambda x: x.sum(1), dim=1)
    yield simple("sum", "bool", [(LARGE,)], torch.sum, dim="all")
    yield simple("sum_to_fp32", "fp16", [(8192, 1024)], lambda x: x.sum(0, dtype=torch.float32), dim=0)


# ---------------------------------------------------------------- normalisation

BN_SHAPES = [(32, 64, 112, 112), (32, 256, 56, 56), (32, 512, 28, 28), (32, 1024, 14, 14), (32, 2048, 7, 7),
             (2, 64, 56, 56)]


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x


def bn_train(x, weight, bias, mean=None, variance=None):
    return F.batch_norm(x, mean, variance, weight, bias, True, 0.1, 1e-5)


def bn_eval(x, weight, bias, mean, variance):
    return F.batch_norm(x, mean, variance, weight, bias)


def batch_norms():
    for dtype in FLOATS:
        for shape in BN_SHAPES if dtype != "bf16" else BN_SHAPES[1:2]:
            shapes = [shape] + [(shape[1],)] * 4
            types = [dtype] + ["fp32"] * 4
            for layout, prepare in (("nchw", None), ("nhwc", channels_last)):
                options = {"types": types, "prepare": prepare, "layout": layout}
                yield simple("batch_norm", dtype, shapes, bn_train, **options)
                yield simple("batch_norm_eval", dtype, shapes, bn_eval, **options)
                yield backward("batch_norm", dtype, shapes[:3], bn_train, **options)


def norms():
    yield from batch_norms()
    for dtype in ("fp32", "fp16"):
        for rows, width in ((2048, 768), (16384, 768), (8192, 1024), (4096, 4096), (2048, 8192), (512, 770), (64, 256)):
            shapes = [(rows, width), (width,), (width,)]
            yield from both("layer_norm", dtype, shapes, lambda x, w, b: F.layer_norm(x, w.shape, w, b))
        if hasattr(F, "rms_norm"):
            yield from both("rms_norm", dtype, [(4096, 4096), (4096,)], lambda x, w: F.rms_norm(x, w.shape, w))
        shapes = [(16, 256, 56, 56), (256,), (256,)]
        yield from both("group_norm", dtype, shapes, lambda x, w, b: F.group_norm(x, 32, w, b))


# ---------------------------------------------------------------- softmax and losses

def cross_entropy(rows, classes, dtype):
    def make(grad):
        scores = rand((rows, classes), dtype).requires_grad_(grad)
        target = torch.randint(0, classes, (rows,), device=DEVICE)
        if not grad:
            return lambda: F.cross_entropy(scores, target)
        loss = F.cross_entropy(scores, target)
        return lambda: torch.autograd.grad(loss, scores, retain_graph=True)
    shapes = [(rows, classes), (rows,)]
    yield Case("cross_entropy", dtype, shapes, lambda: make(False), {})
    yield Case("cross_entropy_backward", dtype, shapes, lambda: make(True), {})


def softmaxes():
    shapes = [(24576, 128), (8192, 512), (6304, 197), (8192, 1024), (4096, 2048), (4096, 4096), (2048, 30522),
              (512, 50257), (32, 1000), (32, 10)]
    for dtype in ("fp32", "fp16"):
        for shape in shapes:
            yield from both("softmax", dtype, [shape], lambda x: torch.softmax(x, -1))
        for shape in shapes[-4:]:
            yield from both("log_softmax", dtype, [shape], lambda x: torch.log_softmax(x, -1))
        yield from both("softmax", dtype, [(8, 21, 128, 128)], lambda x: torch.softmax(x, 1), dim=1)
    yield simple("softmax_to_fp32", "fp16", [(24576, 128)], lambda x: torch.softmax(x, -1, dtype=torch.float32))
    for rows, classes in ((32, 1000), (2048, 30522), (2044, 50257), (64, 10)):
        yield from cross_entropy(rows, classes, "fp32")
    yield from both("bce_logits", "fp32", [(8192, 1), (8192, 1)],
                    lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()))
    yield from both("mse", "fp32", [(2048, 1024)] * 2, F.mse_loss)


# ---------------------------------------------------------------- matrix products

MATRIX_TYPES = ("fp32", "tf32", "fp16", "bf16")
LINEAR_SHAPES = [  # rows, outputs, inner
    (2048, 768, 768), (2048, 3072, 768), (2048, 768, 3072), (512, 768, 768), (8192, 768, 768), (128, 3072, 768),
    (2048, 30522, 768), (32, 1000, 2048), (2048, 512, 13), (8192, 1024, 479), (8192, 1, 256), (1, 4096, 4096),
    (16, 4096, 4096), (256, 4096, 4096), (128, 128, 128), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048),
    (4096, 4096, 4096), (8192, 8192, 4096), (100352, 64, 64), (6304, 2304, 768), (64, 64, 65536), (1000, 1000, 1000),
    (777, 333, 555),
]
BATCH_SHAPES = [(192, 128, 128, 64), (192, 128, 64, 128), (2048, 27, 27, 128), (48, 512, 512, 64), (384, 197, 197, 64),
                (16, 1024, 1024, 1024)]


def gemm():
    for dtype in MATRIX_TYPES:
        for m, n, k in LINEAR_SHAPES:
            yield simple("mm", dtype, [(m, k), (n, k)], lambda a, b: a @ b.t(), layout="tn")
        for m, n, k in LINEAR_SHAPES[:4] + LINEAR_SHAPES[16:19]:
            yield simple("mm", dtype, [(m, k), (k, n)], lambda a, b: a @ b, layout="nn")
            yield simple("mm", dtype, [(k, m), (k, n)], lambda a, b: a.t() @ b, layout="nt")
        for m, n, k in LINEAR_SHAPES[:6] + LINEAR_SHAPES[7:10]:
            yield simple("linear", dtype, [(m, k), (n, k), (n,)], F.linear)
        for b, m, n, k in BATCH_SHAPES:
            yield simple("bmm", dtype, [(b, m, k), (b, n, k)], lambda x, y: x @ y.transpose(1, 2), layout="tn")
            yield simple("bmm", dtype, [(b, m, k), (b, k, n)], torch.bmm, layout="nn")
    yield simple("mm", "fp64", [(1024, 1024)] * 2, torch.mm, layout="nn")
    yield simple("mv", "fp32", [(4096, 4096), (4096,)], torch.mv)
    yield simple("dot", "fp32", [(LARGE,)] * 2, torch.dot)


# ---------------------------------------------------------------- convolutions

def convolution(op, x, weight, stride, padding, groups, nhwc):
    """Forward, input gradient and weight gradient of one convolution as three makers."""
    def tensors(dtype):
        image, filters = rand(x, dtype), rand(weight, dtype)
        if nhwc:
            image, filters = channels_last(image), channels_last(filters)
        return image, filters

    def make(part, dtype):
        allow_tf32(dtype)
        image, filters = tensors(dtype)
        place = ([stride, stride], [padding, padding], [1, 1], False, [0, 0], groups)
        if part == "forward":
            call = lambda: F.conv2d(image, filters, None, stride, padding, 1, groups)
        else:
            gradient = torch.randn_like(F.conv2d(image, filters, None, stride, padding, 1, groups))
            mask = [part == "dgrad", part == "wgrad", False]
            call = lambda: aten.convolution_backward(gradient, image, filters, None, *place, mask)

        def run():
            allow_tf32(dtype)
            return call()
        return run
    return make


def conv_cases(op, x, weight, stride, padding, groups, dtype, nhwc):
    make = convolution(op, x, weight, stride, padding, groups, nhwc)
    attrs = {"stride": stride, "padding": padding, "groups": groups, "layout": "nhwc" if nhwc else "nchw"}
    for part in ("forward", "dgrad", "wgrad"):
        name = op if part == "forward" else f"{op}_{part}"
        yield Case(name, dtype, [x, weight], lambda p=part: make(p, dtype), attrs)


CONVOLUTIONS = [  # input, weight, stride, padding
    ((32, 3, 224, 224), (64, 3, 7, 7), 2, 3), ((32, 64, 56, 56), (256, 64, 1, 1), 1, 0),
    ((32, 256, 56, 56), (64, 256, 1, 1), 1, 0), ((32, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    ((32, 128, 56, 56), (128, 128, 3, 3), 2, 1), ((32, 128, 28, 28), (128, 128, 3, 3), 1, 1),
    ((32, 512, 28, 28), (1024, 512, 1, 1), 2, 0), ((32, 256, 14, 14), (256, 256, 3, 3), 1, 1),
    ((32, 512, 7, 7), (512, 512, 3, 3), 1, 1), ((32, 2048, 7, 7), (512, 2048, 1, 1), 1, 0),
    ((1, 256, 14, 14), (256, 256, 3, 3), 1, 1), ((256, 256, 14, 14), (256, 256, 3, 3), 1, 1),
    ((1024, 1, 28, 28), (6, 1, 5, 5), 1, 2), ((32, 3, 224, 224), (768, 3, 16, 16), 16, 0),
]
DEPTHWISE = [((64, 32, 112, 112), 1), ((64, 96, 112, 112), 2), ((64, 144, 56, 56), 1), ((64, 384, 14, 14), 1),
             ((64, 576, 14, 14), 2), ((64, 960, 7, 7), 1)]


def conv():
    for dtype, nhwc in (("tf32", False), ("fp16", False), ("fp16", True), ("tf32", True)):
        for x, weight, stride, padding in CONVOLUTIONS:
            yield from conv_cases("conv2d", x, weight, stride, padding, 1, dtype, nhwc)
    for x, weight, stride, padding in CONVOLUTIONS[1:10:2]:
        yield from conv_cases("conv2d", x, weight, stride, padding, 1, "fp32", False)
        yield from conv_cases("conv2d", x, weight, stride, padding, 1, "bf16", False)


def depthwise():
    for dtype, nhwc in (("tf32", False), ("fp16", False), ("fp16", True)):
        for x, stride in DEPTHWISE:
            yield from conv_cases("depthwise", x, (x[1], 1, 3, 3), stride, 1, x[1], dtype, nhwc)
        yield from conv_cases("grouped", (32, 256, 28, 28), (256, 8, 3, 3), 1, 1, 32, dtype, nhwc)
    for dtype in ("tf32", "fp16"):
        yield from both("conv_transpose2d", dtype, [(16, 256, 32, 32), (256, 128, 2, 2)],
                        lambda x, w: F.conv_transpose2d(x, w, None, 2))
        yield from both("conv1d", dtype, [(32, 256, 1000), (256, 256, 5)], lambda x, w: F.conv1d(x, w, None, 1, 2))


# ---------------------------------------------------------------- attention

ATTENTION = [(16, 12, 128, 64, False), (4, 12, 512, 64, True), (32, 12, 197, 64, False), (4, 16, 2048, 128, True),
             (2, 16, 4096, 64, False)]


def attend(backend, causal, dropout):
    def fn(q, k, v):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
    return fn


def attention():
    half = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
    for dtype, backends in (("fp16", half), ("bf16", half[:2]), ("fp32", half[2:])):
        for b, h, s, d, causal in ATTENTION:
            for backend in backends:
                if backend == "MATH" and s > 512:
                    continue
                shapes = [(b, h, s, d)] * 3
                yield from both("sdpa", dtype, shapes, attend(backend, causal, 0.0), backend=backend, causal=causal)
                if s == 128:
                    yield from both("sdpa", dtype, shapes, attend(backend, causal, 0.1), backend=backend,
                                    causal=causal, dropout=0.1)


# ---------------------------------------------------------------- embeddings

def embedding_case(vocab, width, count, dtype, grad):
    def make():
        table = rand((vocab, width), dtype).requires_grad_(grad)
        ids = torch.randint(0, vocab, (count,), device=DEVICE)
        if not grad:
            return lambda: F.embedding(ids, table)
        out = F.embedding(ids, table)
        gradient = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, table, gradient, retain_graph=True)
    name = "embedding_backward" if grad else "embedding"
    return Case(name, dtype, [(vocab, width), (count,)], make, {})


def bag_case(count, per_bag, dtype, grad):
    def make():
        table = rand((200000, 128), dtype).requires_grad_(grad)
        ids = torch.randint(0, 200000, (count * per_bag,), device=DEVICE)
        offsets = torch.arange(0, count * per_bag, per_bag, device=DEVICE)

        def call():
            return F.embedding_bag(ids, table, offsets, mode="sum", sparse=True)
        if not grad:
            return call
        out = call()
        gradient = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, table, gradient, retain_graph=True)
    name = "embedding_bag_backward" if grad else "embedding_bag"
    return Case(name, dtype, [(200000, 128), (count * per_bag,), (count,)], make, {})


def sparse_update_case(rows, count):
    def make():
        table = rand((rows, 128))
        ids = torch.randint(0, rows, (1, count), device=DEVICE)
        change = torch.sparse_coo_tensor(ids, rand((count, 128)), (rows, 128))
        return lambda: table.add_(change, alpha=-0.1)
    return Case("sparse_add_", "fp32", [(rows, 128), (count, 128)], make, {})


def embeddings():
    for dtype in ("fp32", "fp16"):
        for vocab, width, count in ((30522, 768, 2048), (30522, 768, 16384), (50257, 768, 2048), (2, 768, 2048),
                                    (10000, 1024, 4096), (512, 768, 128)):
            for grad in (False, True):
                yield embedding_case(vocab, width, count, dtype, grad)
        for count, per_bag in ((2048, 1), (8192, 1), (2048, 20)):
            for grad in (False, True):
                yield bag_case(count, per_bag, dtype, grad)
    for count in (2048, 8192, 32768):
        yield sparse_update_case(200000, count)


# ---------------------------------------------------------------- optimizers

LISTS = {
    "transformer": [(768, 768)] * 8 + [(3072, 768)] * 4 + [(768,)] * 40, "one_large": [(30522, 768)],
    "many_tiny": [(64,)] * 160, "convolutions": [(256, 256, 3, 3)] * 10 + [(1024, 256, 1, 1)] * 10 + [(256,)] * 40,
}
FOREACH = {
    "add_": lambda p, g, m, v: torch._foreach_add_(p, g, alpha=-0.1),
    "mul_": lambda p, g, m, v: torch._foreach_mul_(p, 0.9),
    "add": lambda p, g, m, v: torch._foreach_add(g, p, alpha=1e-4),
    "addcmul_": lambda p, g, m, v: torch._foreach_addcmul_(v, g, g, 0.001),
    "addcdiv_": lambda p, g, m, v: torch._foreach_addcdiv_(p, m, v, -0.001),
    "sqrt": lambda p, g, m, v: torch._foreach_sqrt(v),
    "lerp_": lambda p, g, m, v: torch._foreach_lerp_(m, g, 0.1),
    "zero_": lambda p, g, m, v: torch._foreach_zero_(g),
    "norm": lambda p, g, m, v: torch._foreach_norm(g),
    "unscale_": lambda p, g, m, v: torch._amp_foreach_non_finite_check_and_unscale_(
        g, torch.zeros(1, device=DEVICE), torch.ones(1, device=DEVICE)),
}


def foreach_case(name, fn, kind, dtype):
    def make():
        lists = [[rand(shape, dtype).abs_() + 1 for shape in LISTS[kind]] for _ in range(4)]
        return lambda: fn(*lists)
    return Case("foreach_" + name, dtype, LISTS[kind], make, {"list": kind})


def optimizer_case(name, build, kind):
    def make():
        parameters = [torch.nn.Parameter(rand(shape)) for shape in LISTS[kind]]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        return build(parameters).step
    return Case(name, "fp32", LISTS[kind], make, {"list": kind})


OPTIMIZERS = {
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-4, foreach=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-4, foreach=True),
    "adamw_capturable": lambda p: torch.optim.AdamW(p, lr=1e-4, foreach=True, capturable=True),
    "adamw_fused": lambda p: torch.optim.AdamW(p, lr=1e-4, fused=True),
}


def optimizers():
    for kind in LISTS:
        for name, fn in FOREACH.items():
            yield foreach_case(name, fn, kind, "fp32")
        for name, build in OPTIMIZERS.items():
            yield optimizer_case(name, build, kind)
    for name in ("add_", "mul_", "sqrt", "unscale_"):
        yield foreach_case(name, FOREACH[name], "transformer", "fp16")


# ---------------------------------------------------------------- recurrent networks

RNN_KINDS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def rnn_case(kind, dtype, steps, batch, hidden, layers, grad):
    def make():
        allow_tf32(dtype)
        net = RNN_KINDS[kind](hidden, hidden, layers).to(DEVICE).to(DTYPES[dtype])
        x = rand((steps, batch, hidden), dtype)
        if not grad:
            def run():
                allow_tf32(dtype)
                with torch.no_grad():
                    return net(x)
            return run
        out, _ = net(x.requires_grad_())
        gradient = torch.randn_like(out)
        wanted = [x] + list(net.parameters())
        return lambda: torch.autograd.grad(out, wanted, gradient, retain_graph=True)
    attrs = {"hidden": hidden, "layers": layers}
    return Case(kind + ("_backward" if grad else ""), dtype, [(steps, batch, hidden)], make, attrs)


def cell_case(kind, dtype, batch, hidden):
    def make():
        allow_tf32(dtype)
        cell = {"lstm_cell": torch.nn.LSTMCell, "gru_cell": torch.nn.GRUCell}[kind](hidden, hidden)
        cell = cell.to(DEVICE).to(DTYPES[dtype])
        x = rand((batch, hidden), dtype)
        return lambda: cell(x)
    return Case(kind, dtype, [(batch, hidden)], make, {"hidden": hidden})


def rnn():
    for dtype in ("tf32", "fp16", "fp32"):
        for kind, layers, batch, hidden in (("lstm", 2, 64, 1024), ("lstm", 1, 16, 512), ("gru", 1, 16, 1024)):
            for grad in (False, True):
                yield rnn_case(kind, dtype, 4, batch, hidden, layers, grad)
        for kind in ("lstm_cell", "gru_cell"):
            yield cell_case(kind, dtype, 64, 1024)
    yield rnn_case("rnn", "tf32", 4, 64, 512, 1, False)


# ---------------------------------------------------------------- pooling

POOLS = {
    "max_pool_3s2": ((32, 64, 112, 112), lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max_pool_2s2": ((32, 64, 56, 56), lambda x: F.max_pool2d(x, 2)),
    "avg_pool_2s2": ((1024, 6, 28, 28), lambda x: F.avg_pool2d(x, 2)),
    "avg_pool_7": ((32, 512, 28, 28), lambda x: F.avg_pool2d(x, 7)),
    "global_avg_pool": ((32, 2048, 7, 7), lambda x: F.adaptive_avg_pool2d(x, 1)),
    "adaptive_pool_6": ((32, 256, 13, 13), lambda x: F.adaptive_avg_pool2d(x, 6)),
    "nearest_up2": ((16, 128, 32, 32), lambda x: F.interpolate(x, scale_factor=2)),
    "bilinear_up2": ((16, 128, 32, 32), lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
}


def pools():
    for dtype in ("fp32", "fp16"):
        for name, (shape, fn) in POOLS.items():
            yield from both(name, dtype, [shape], fn, layout="nchw")
            yield from both(name, dtype, [shape], fn, prepare=channels_last, layout="nhwc")


# ---------------------------------------------------------------- indexing and sorting

def indices(limit, shape):
    return torch.randint(0, limit, shape, device=DEVICE)


def indexed(op, dtype, shape, index_shape, fn, limit=None, **attrs):
    """fn(table, index) with random indices below `limit` (default: the table's rows)."""
    def make():
        table, index = rand(shape, dtype), indices(limit or shape[0], index_shape)
        return lambda: fn(table, index)
    return Case(op, dtype, [shape, index_shape], make, attrs)


def indexing():
    rows, ids = (65536, 256), (32768,)
    for dtype in ("fp32", "fp16"):
        yield indexed("index_select", dtype, rows, ids, lambda t, i: t.index_select(0, i))
        yield indexed("index", dtype, rows, ids, lambda t, i: t[i])
        yield indexed("gather0", dtype, rows, (16384, 256), lambda t, i: t.gather(0, i))
        yield indexed("gather1", dtype, (65536, 256), (65536, 64), lambda t, i: t.gather(1, i), limit=256)
        yield indexed("scatter_add", dtype, rows, (16384, 256), lambda t, i: t.scatter_add(0, i, t[:16384]))
        yield indexed("scatter", dtype, rows, (16384, 256), lambda t, i: t.scatter(0, i, t[:16384]))
        yield indexed("index_add", dtype, rows, ids, lambda t, i: t.index_add(0, i, t[:32768]))
        yield indexed("index_put", dtype, rows, ids, lambda t, i: t.index_put((i,), t[:32768], accumulate=True))
    yield indexed("bincount", "fp32", (1000,), (2 ** 20,), lambda t, i: torch.bincount(i, minlength=1000))
    yield indexed("one_hot", "fp32", (1000,), (8192,), lambda t, i: F.one_hot(i, 1000))
    yield indexed("unique", "fp32", (10000,), (2 ** 18,), lambda t, i: torch.unique(i))
    yield indexed("sort", "int64", (2 ** 20,), (2 ** 20,), lambda t, i: i.sort())


def selection():
    table = {
        "sort": [((2 ** 20,), lambda x: x.sort()), ((1024, 1024), lambda x: x.sort(1)),
                 ((64, 65536), lambda x: x.sort(1))],
        "argsort": [((2 ** 16,), lambda x: x.argsort())],
        "topk": [((4096, 1000), lambda x: x.topk(5)), ((64, 50257), lambda x: x.topk(50)),
                 ((2 ** 20,), lambda x: x.topk(100))],
        "nonzero": [((2 ** 22,), lambda x: (x > 0).nonzero())],
        "masked_select": [((2 ** 22,), lambda x: x[x > 0])],
        "cumsum": [((2 ** 22,), lambda x: x.cumsum(0)), ((4096, 4096), lambda x: x.cumsum(1))],
        "tril": [((4096, 4096), torch.tril)], "triu_batch": [((64, 512, 512), torch.triu)],
        "multinomial": [((64, 10000), lambda x: torch.multinomial(x.abs() + 0.1, 8))],
        "searchsorted": [((2 ** 20,), lambda x: torch.searchsorted(x[:1024].sort()[0], x))],
        "histc": [((2 ** 22,), lambda x: torch.histc(x, 100, -3, 3))],
    }
    for name, entries in table.items():
        for shape, fn in entries:
            yield simple(name, "fp32", [shape], fn)
    yield simple("arange", "int64", [], lambda: torch.arange(2 ** 20, device=DEVICE))
    yield simple("randperm", "int64", [], lambda: torch.randperm(2 ** 18, device=DEVICE))


def index():
    yield from indexing()
    yield from selection()


def smoke():
    """A few cases that show whether the tools work at all."""
    yield simple("add", "fp32", [(2 ** 20,)] * 2, torch.add)
    yield from both("softmax", "fp32", [(1024, 1024)], lambda x: torch.softmax(x, -1))
    yield from both("linear", "fp16", [(512, 512), (512, 512), (512,)], F.linear)
    yield simple("relu", "fp16", [(2 ** 20,)], torch.relu)


GROUPS = {
    "pointwise": pointwise, "copy": copies, "reduce": reductions, "norm": norms, "softmax": softmaxes, "gemm": gemm,
    "conv": conv, "depthwise": depthwise, "attention": attention, "embedding": embeddings, "optimizer": optimizers,
    "rnn": rnn, "pool": pools, "index": index, "smoke": smoke,
}


def cases_of(groups):
    """(group, case) pairs of the named groups, in a fixed order."""
    return [(group, case) for group in groups for case in GROUPS[group]()]
