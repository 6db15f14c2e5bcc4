"""What goes on around convolutions and on rows of tables, in sizes that the other groups hold few of: biases and their gradients,
pooling, joined images, first layers in 16 bits, rows that an index names many times."""
import torch
import torch.nn.functional as F

from ops_base import Case, both, rand, simple
from ops_compute import conv_cases, indexed, indices

IMAGES = [(128, 64, 55, 55), (128, 256, 13, 13), (32, 512, 7, 7), (16, 128, 112, 112), (256, 96, 27, 27), (64, 384, 14, 14)]
SCORES = [(128, 4, 196, 196), (64, 8, 49, 49), (32, 12, 197, 197)]
POOLED = [(128, 64, 111, 111), (128, 128, 55, 55), (32, 64, 112, 112), (64, 256, 27, 27)]
STEMS = [((64, 3, 224, 224), (32, 3, 3, 3), 1), ((128, 3, 224, 224), (64, 3, 3, 3), 0), ((32, 3, 224, 224), (64, 3, 7, 7), 3),
         ((128, 3, 224, 224), (16, 3, 3, 3), 1)]
TABLES = [(32000, 256), (32000, 8), (4096, 768)]


def biases():
    for dtype in ("fp16", "bf16", "fp32"):
        for shape in IMAGES:
            yield simple("sum", dtype, [shape], lambda x: x.sum((0, 2, 3)), dim="channels")
            yield simple("add_", dtype, [shape, (shape[1], 1, 1)], lambda x, b: x.add_(b))
    for shape in SCORES:
        yield simple("add", "fp16", [shape, shape[1:]], torch.add, types=["fp16", "fp32"], other="fp32")


def pooled():
    for dtype in ("fp16", "fp32"):
        for shape in POOLED:
            yield from both("max_pool_3s2", dtype, [shape], lambda x: F.max_pool2d(x, 3, 2))
            yield simple("cat", dtype, [shape, shape], lambda a, b: torch.cat([a, b], 1))


def stems():
    for dtype in ("fp16", "tf32"):
        for x, weight, padding in STEMS:
            yield from conv_cases("conv2d", x, weight, 2, padding, 1, dtype, False)


def added(op, dtype, table, count, fn):
    """fn(table, index, values): a row of values for every index."""
    def make():
        tensors = rand(table, dtype), indices(table[0], (count,)), rand((count, *table[1:]), dtype)
        return lambda: fn(*tensors)
    return Case(op, dtype, [table, (count,)], make, {})


def many_rows():
    for dtype in ("fp16", "fp32"):
        for table in TABLES:
            count = 8 * table[0]
            yield indexed("index_select", dtype, table, (count,), lambda t, i: t.index_select(0, i))
            yield indexed("index", dtype, table, (count,), lambda t, i: t[i])
            yield added("index_add", dtype, table, count, lambda t, i, x: t.index_add(0, i, x))
            yield added("index_put", dtype, table, count, lambda t, i, x: t.index_put((i,), x, accumulate=True))


def channels():
    for part in (biases, pooled, stems, many_rows):
        yield from part()
