"""Operators bound by memory: pointwise, copies, reductions, norms, softmax."""
import torch
import torch.nn.functional as F

import ops_base
from ops_base import DTYPES, FLOATS, LARGE, Case, aten, backward, both, rand, simple


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
        target = torch.randint(0, classes, (rows,), device=ops_base.DEVICE)
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
