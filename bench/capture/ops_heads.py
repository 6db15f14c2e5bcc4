"""Fused attention as networks call it: heads behind rows, the backend that the framework picks, all that changes its time."""
import torch
import torch.nn.functional as F

from ops_base import Case, rand

WIDTHS = (32, 64, 80, 128)
SQUARE = [(b, h, rows) for rows in (49, 64, 128, 197, 256, 384, 577, 1024, 2048)
          for b, h in ((4, 12), (16, 12), (64, 12), (128, 16)) if 30000 <= b * h * rows * (rows + 64) / 64 <= 1.5e6]
CROSS = [(64, 1, 3136, 49), (64, 2, 784, 49), (16, 12, 128, 512), (16, 12, 512, 128), (64, 12, 1, 256), (16, 8, 2048, 64)]
MASKED = [(16, 12, 128), (64, 12, 128), (64, 12, 197), (4, 12, 512), (4, 16, 1024)]


def case(part, dtype, b, h, queries, keys, width, dropout=0.0, causal=False, mask=None):
    """`part`: "forward" or "backward"; the mask, of `mask`'s shape, is added and has no gradient."""
    shapes = [(b, queries, h, width), (b, keys, h, width), (b, keys, h, width)] + ([mask] if mask else [])

    def make():
        rows = [rand(shape, dtype).requires_grad_(part == "backward") for shape in shapes[:3]]
        added = rand(mask, dtype) if mask else None

        def attend():
            q, k, v = (x.transpose(1, 2) for x in rows)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=added, dropout_p=dropout, is_causal=causal)
        if part == "forward":
            return attend
        out = attend()
        gradient = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, rows, gradient, retain_graph=True)
    attrs = {"dropout": dropout, "causal": causal}
    return Case("heads" if part == "forward" else "heads_backward", dtype, shapes, make, attrs)


def heads():
    for part in ("forward", "backward"):
        for b, h, rows in SQUARE:
            for width in WIDTHS:
                yield case(part, "fp16", b, h, rows, rows, width)
            for dropout, causal in ((0.1, False), (0.0, True), (0.1, True)):
                yield case(part, "fp16", b, h, rows, rows, 64, dropout, causal)
        for b, h, queries, keys in CROSS:
            yield case(part, "fp16", b, h, queries, keys, 64)
        for b, h, rows in MASKED:
            for dropout in (0.0, 0.1):
                for mask in ((1, h, rows, rows), (b, 1, rows, rows), (b, h, rows, rows)):
                    yield case(part, "fp16", b, h, rows, rows, 64, dropout, False, mask)
        for b, h, rows in SQUARE[::5]:
            yield case(part, "bf16", b, h, rows, rows, 64)


def heads_counted():
    """Few of them, to be counted: what dropping out, masks in memory and causal order add, for two widths and long and short rows."""
    for part in ("forward", "backward"):
        for b, h, rows in ((16, 12, 128), (64, 12, 197), (4, 12, 512), (8, 12, 1024), (4, 16, 2048)):
            yield case(part, "fp16", b, h, rows, rows, 64)
            yield case(part, "fp16", b, h, rows, rows, 128)
            for dropout, causal in ((0.1, False), (0.0, True), (0.1, True)):
                yield case(part, "fp16", b, h, rows, rows, 64, dropout, causal)
        for b, h, rows in MASKED:
            for dropout in (0.0, 0.1):
                yield case(part, "fp16", b, h, rows, rows, 64, dropout, False, (b, 1, rows, rows))
        yield case(part, "fp16", 4, 16, 1024, 1024, 64, 0.0, False, (4, 16, 1024, 1024))
        for b, h, queries, keys in CROSS[1:4]:
            yield case(part, "fp16", b, h, queries, keys, 64)
