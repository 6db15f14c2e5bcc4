"""Kernels that depend on how data lies in memory: channels-last norms and depthwise convolutions, permuted operands."""
import torch
import torch.nn.functional as F

from ops_base import both, simple
from ops_compute import conv_cases
from ops_memory import bn_train, channels_last
from ops_triton import compiled

# Channels and images on both sides of what the SMs of a large GPU hold on chip.
BATCH_NORMS = [(64, 32, 112, 112), (64, 96, 112, 112), (64, 144, 56, 56), (64, 192, 28, 28), (64, 384, 14, 14),
               (64, 576, 14, 14), (64, 960, 7, 7), (32, 64, 56, 56), (32, 128, 56, 56), (32, 512, 28, 28),
               (32, 1024, 14, 14), (128, 64, 56, 56), (32, 256, 28, 28), (256, 64, 28, 28)]
CONVNEXT = [(32, 96, 56, 56), (32, 192, 28, 28), (32, 384, 14, 14), (32, 768, 7, 7)]
POINTS = [(32, 64, 1024), (32, 128, 1024), (32, 1024, 1024)]


def last_norms():
    for dtype in ("fp16", "fp32"):
        for shape in BATCH_NORMS:
            shapes = [shape, (shape[1],), (shape[1],)]
            yield from both("batch_norm", dtype, shapes, bn_train, types=[dtype, "fp32", "fp32"],
                            prepare=channels_last, layout="nhwc")


def wide_depthwise():
    for dtype in ("fp16", "tf32"):
        for x in CONVNEXT:
            for nhwc in (False, True):
                yield from conv_cases("depthwise", x, (x[1], 1, 7, 7), 1, 3, x[1], dtype, nhwc)
        for x in ((64, 144, 56, 56), (64, 672, 14, 14)):
            for nhwc in (False, True):
                yield from conv_cases("depthwise", x, (x[1], 1, 5, 5), 1, 2, x[1], dtype, nhwc)


def permuted():
    to_last = lambda x: x.permute(0, 2, 3, 1)
    for dtype in ("fp16", "fp32"):
        for shape in CONVNEXT:
            n, c, h, w = shape
            last = (n, h, w, c)
            yield simple("add", dtype, [last, shape], lambda a, b: a + to_last(b), layout="one permuted")
            yield simple("mul", dtype, [(c, 1, 1), last], lambda s, x: s * x.permute(0, 3, 1, 2), layout="permuted")
            yield simple("gelu", dtype, [shape], lambda x: F.gelu(to_last(x)), layout="permuted")
            yield simple("copy_to_last", dtype, [shape], lambda x: to_last(x).contiguous())
            yield from both("layer_norm", dtype, [shape, (c,), (c,)],
                            lambda x, a, b: F.layer_norm(to_last(x), a.shape, a, b), layout="permuted")
            yield simple("roll", dtype, [last], lambda x: torch.roll(x, (-3, -3), (1, 2)))
            if h % 7 == 0:
                yield simple("copy_windows", dtype, [last], lambda x, n=n, h=h, c=c: x.view(
                    n, h // 7, 7, h // 7, 7, c).permute(0, 1, 3, 2, 4, 5).contiguous())


def points():
    for dtype in ("fp16", "tf32"):
        for shape in POINTS:
            n, c, length = shape
            yield from both("conv1d", dtype, [shape, (2 * c, c, 1)], lambda x, w: F.conv1d(x, w))
            kind = "fp32" if dtype == "tf32" else dtype
            yield from both("batch_norm", kind, [shape, (c,), (c,)], bn_train, types=[kind, "fp32", "fp32"], layout="ncl")
            yield simple("max", kind, [shape], lambda x: x.max(2), dim=2)


def layout():
    for part in (last_norms, wide_depthwise, permuted, points):
        yield from part()


TRITON_IMAGES = {  # on [n, c, h, w]
    "last_norm": (1, lambda x: F.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2])),
    "permuted_add": (2, lambda a, b: (a.permute(0, 2, 3, 1) + b.permute(0, 2, 3, 1)).contiguous()),
    "to_last": (1, lambda x: (x.permute(0, 2, 3, 1) * 1.5).contiguous()),
    "channel_sums": (2, lambda a, b: ((a * b).sum((0, 2, 3)), a.sum((0, 2, 3)))),
    "batch_norm_relu": (1, lambda x: torch.relu(F.batch_norm(x, None, None, None, None, True))),
    "roll": (1, lambda x: torch.roll(x.permute(0, 2, 3, 1), (-3, -3), (1, 2)).contiguous()),
    "pixel_mean": (1, lambda x: x.mean((2, 3))),
}
TRITON_ROWS = {  # on [rows, columns]
    "gelu_norm": (1, lambda x: F.layer_norm(F.gelu(x), x.shape[-1:])),
    "rms_norm": (1, lambda x: x * torch.rsqrt((x * x).float().mean(-1, keepdim=True) + 1e-6).to(x.dtype)),
    "norm_grad": (2, lambda g, x: g - g.mean(-1, keepdim=True) - x * (g * x).mean(-1, keepdim=True)),
    "transposed_add": (1, lambda x: x.t().contiguous() + 1.0),
    "heads": (1, lambda x: (x.view(x.shape[0] // 128, 128, -1, 64).transpose(1, 2) * 0.125).contiguous()),
    "dropout_add": (2, lambda a, b: a + F.dropout(b, 0.1, True)),
}


def triton_layout():
    for dtype in ("fp16", "fp32"):
        for name, (count, fn) in TRITON_IMAGES.items():
            for shape in ((32, 96, 56, 56), (64, 384, 14, 14), (32, 768, 7, 7)):
                yield compiled(name, dtype, shape, count, fn)
                if name in ("last_norm", "channel_sums", "batch_norm_relu"):
                    yield compiled(name, dtype, shape, count, fn, prepare=channels_last, layout="nhwc")
        for name, (count, fn) in TRITON_ROWS.items():
            for shape in ((8192, 768), (2048, 4096), (32768, 192)):
                yield compiled(name, dtype, shape, count, fn)
