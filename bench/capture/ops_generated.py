"""Pieces of networks as torch.compile generates them, forward and backward: norms of images and of rows with what stands
around them, rotated positions, gates, masks, losses. What each generated kernel was launched with is noted (`launches`):
a trace would tell it, Nsight Compute does not."""
import torch
import torch.nn.functional as F

from ops_base import DTYPES, Case, rand

IMAGES = [(32, 64, 56, 56), (32, 96, 28, 28), (64, 384, 14, 14), (32, 18, 56, 56), (64, 1024, 7, 7)]
FEW_IMAGES = IMAGES[:3]
ROWS = [(16, 128, 768), (8, 256, 1024), (32, 196, 384)]
HEADS = [(16, 128, 12, 64), (4, 512, 8, 128)]
LAUNCHES = []  # of the run that is measured: {"kernel", "operands": [[dims, strides, type]], "config"}


def described(tensor):
    return [list(tensor.shape), list(tensor.stride()), str(tensor.dtype).removeprefix("torch.")]


def note_launches():
    """Every launch of a generated kernel is noted from here on."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    if getattr(CachingAutotuner, "noted", False):
        return
    plain = CachingAutotuner.run

    def run(self, *args, **options):
        result = plain(self, *args, **options)
        config = self.launchers[0].config
        LAUNCHES.append({"kernel": self.fn.__name__, "operands": [described(a) for a in args if isinstance(a, torch.Tensor)],
                         "config": {**config.kwargs, "warps": config.num_warps}})
        return result
    CachingAutotuner.run, CachingAutotuner.noted = run, True


class Generated(Case):
    def launches(self):
        return list(LAUNCHES)


def last(x):
    return x.to(memory_format=torch.channels_last) if x.dim() == 4 else x


def piece(name, dtype, shapes, fn, train=True, types=(), prepare=None, **attrs):
    """fn(random tensors of the shapes), compiled, and its gradient by all of them that have one."""
    def make():
        torch._dynamo.reset()
        note_launches()
        kinds = list(types) + [dtype] * (len(shapes) - len(types))
        inputs = [rand(shape, kind) for shape, kind in zip(shapes, kinds)]
        inputs = [prepare(x) if prepare else x for x in inputs]
        wanted = [x.requires_grad_() for x in inputs if train and x.is_floating_point()]
        generated = torch.compile(fn)
        with torch.no_grad():
            gradient = torch.randn_like(fn(*inputs))

        def run():
            LAUNCHES.clear()
            if not train:
                with torch.no_grad():
                    return generated(*inputs)
            return torch.autograd.grad(generated(*inputs), wanted, gradient)
        return run
    return Generated("generated_" + name, dtype, shapes, make, attrs)


def norm(x, w, b):
    return F.batch_norm(x, None, None, w, b, True)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


IMAGE_NORMS = {  # x, weight, bias [, y]
    "norm": (0, norm),
    "norm_relu": (0, lambda x, w, b: torch.relu(norm(x, w, b))),
    "norm_relu6": (0, lambda x, w, b: F.hardtanh(norm(x, w, b), 0.0, 6.0)),
    "norm_silu": (0, lambda x, w, b: F.silu(norm(x, w, b))),
    "norm_hardswish": (0, lambda x, w, b: F.hardswish(norm(x, w, b))),
    "norm_add_relu": (1, lambda x, w, b, y: torch.relu(norm(x, w, b) + y)),
    "group_norm_silu": (0, lambda x, w, b: F.silu(F.group_norm(x.float(), 2, w, b)).to(x.dtype)),
}
IMAGE_PIECES = {  # what follows x, function
    "scaled": (lambda n, c, h, w: [(n, c, 1, 1)], lambda x, s: x * torch.sigmoid(s)),
    "layer_scale": (lambda n, c, h, w: [(n, c, h, w), (1, c, 1, 1)], lambda x, y, s: y + s * x),
    "shuffle": (lambda n, c, h, w: [(n, c, h, w)],
                lambda x, y: torch.cat((x, y), 1).unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2).contiguous()),
    "upsample_cat": (lambda n, c, h, w: [(n, c, 2 * h, 2 * w)],
                     lambda x, y: torch.cat((F.interpolate(x, scale_factor=2.0, mode="nearest"), y), 1)),
    "bias_gelu": (lambda n, c, h, w: [(1, c, 1, 1)], lambda x, b: F.gelu(x + b)),
    "max_pool": (lambda n, c, h, w: [], lambda x: F.max_pool2d(x, 3, 2, 1)),
    "pixel_norm": (lambda n, c, h, w: [(c,), (c,)], lambda x, s, b: F.layer_norm(x.permute(0, 2, 3, 1), s.shape, s, b)),
}
ROW_PIECES = {  # what follows x of [batch, length, width], function
    "layer_norm": (lambda b, s, d: [(d,), (d,)], lambda x, w, c: F.layer_norm(x, w.shape, w, c)),
    "add_layer_norm": (lambda b, s, d: [(d,), (d,), (b, s, d)], lambda x, w, c, y: F.layer_norm(x + y, w.shape, w, c)),
    "bias_drop_add_norm": (lambda b, s, d: [(d,), (d,), (b, s, d), (d,)],
                           lambda x, w, c, y, e: F.layer_norm(F.dropout(x + e, 0.1) + y, w.shape, w, c)),
    "rms_norm": (lambda b, s, d: [(d,)],
                 lambda x, w: w * (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)),
    "bias_gelu": (lambda b, s, d: [(d,)], lambda x, e: F.gelu(x + e)),
    "bias_gelu_tanh": (lambda b, s, d: [(d,)], lambda x, e: F.gelu(x + e, approximate="tanh")),
    "gated_silu": (lambda b, s, d: [(b, s, d)], lambda x, y: F.silu(x) * y),
    "gated_halves": (lambda b, s, d: [], lambda x: F.gelu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]),
    "drop_scale_add": (lambda b, s, d: [(b, s, d), (d,)], lambda x, y, g: y + g * F.dropout(x, 0.1)),
    "window_norm": (lambda b, s, d: [(d,), (d,)],
                    lambda x, w, c: torch.roll(F.layer_norm(x, w.shape, w, c).view(x.shape[0], -1, 4, x.shape[2]), (1, 1), (1, 2))),
}


def images():
    for dtype in ("fp16", "fp32"):
        for name, (more, fn) in IMAGE_NORMS.items():
            for shape in IMAGES if name in ("norm_relu", "norm_add_relu") else FEW_IMAGES:
                c = shape[1]
                yield piece(name, dtype, [shape, (c,), (c,)] + [shape] * more, fn, types=(dtype, "fp32", "fp32"),
                            prepare=last, layout="nhwc")
        yield piece("norm_relu", dtype, [IMAGES[0], IMAGES[0][1:2], IMAGES[0][1:2]], IMAGE_NORMS["norm_relu"][1],
                    types=(dtype, "fp32", "fp32"))
        for name, (more, fn) in IMAGE_PIECES.items():
            for shape in FEW_IMAGES:
                yield piece(name, dtype, [shape] + more(*shape), fn, prepare=last, layout="nhwc")


def still(x, w, b, mean, variance):
    return torch.relu(F.batch_norm(x, mean, variance.abs(), w, b, False))


def at_inference():
    for dtype in ("fp16", "fp32"):
        for shape in IMAGES:
            yield piece("still_norm", dtype, [shape] + [shape[1:2]] * 4, still, train=False, types=(dtype,) + ("fp32",) * 4,
                        prepare=last, layout="nhwc")
        for shape in ROWS:
            yield piece("cast_norm", dtype, [shape, shape[2:], shape[2:]], train=False, types=("fp32",) * 3,
                        fn=lambda x, w, b, d=dtype: F.layer_norm(x, w.shape, w, b).to(DTYPES[d]))


def rows():
    for dtype in ("fp16", "bf16", "fp32"):
        for name, (more, fn) in ROW_PIECES.items():
            for shape in ROWS[:2] if dtype == "bf16" else ROWS:
                yield piece(name, dtype, [shape] + more(*shape), fn)


def heads():
    for dtype in ("fp16", "fp32"):
        for b, s, h, d in HEADS:
            to_heads = lambda x, h=h, d=d: x.view(*x.shape[:2], h, d).transpose(1, 2)
            yield piece("rotary", dtype, [(b, s, h * d), (s, d), (s, d)], lambda x, c, t, f=to_heads: rotate(f(x), c, t))
            yield piece("rotary_packed", dtype, [(b, s, 3, h, d), (s, d), (s, d)],
                        lambda x, c, t: rotate(x.transpose(1, 3).unbind(2)[0], c, t))
            yield piece("split_heads", dtype, [(b, s, h * d), (h * d,)], lambda x, e, f=to_heads: f(x + e).contiguous())
            yield piece("masked_softmax", dtype, [(b, h, s, s), (b, 1, 1, s)], lambda x, m: torch.softmax(x * 0.125 + m, -1))
            yield piece("biased_softmax", dtype, [(b, h, s, s), (1, h, s, s)],
                        lambda x, m: torch.softmax((x + m).float(), -1).to(x.dtype))
            yield piece("drop_softmax", dtype, [(b, h, s, s)], lambda x: F.dropout(torch.softmax(x, -1), 0.1))
        yield piece("loss", dtype, [(2048, 30522)], lambda x: -F.log_softmax(x.float(), -1)[:, 7].mean())


def generated():
    for part in (images, at_inference, rows, heads):
        yield from part()


def angles(x, inverse):
    """Cosines and sines of the positions, as a program that keeps no table computes them in every layer."""
    turns = torch.arange(x.shape[1], device=x.device).float()[:, None] * inverse
    turns = torch.cat((turns, turns), -1)
    return turns.cos().to(x.dtype), turns.sin().to(x.dtype)


def turned(x, inverse):
    b, s, _ = x.shape
    cos, sin = angles(x, inverse)
    return rotate(x.view(b, s, -1, cos.shape[-1]).transpose(1, 2), cos, sin)


def turned_packed(x, inverse):
    cos, sin = angles(x, inverse)
    q, k, v = x.transpose(1, 3).unbind(2)
    return rotate(q, cos, sin) @ rotate(k, cos, sin).transpose(-1, -2) @ v


def positions():
    for dtype in ("fp16", "bf16", "fp32"):
        for b, s, h, d in HEADS:
            yield piece("turned", dtype, [(b, s, h * d), (d // 2,)], turned, types=(dtype, "fp32"))
            yield piece("turned_packed", dtype, [(b, s, 3, h, d), (d // 2,)], turned_packed, types=(dtype, "fp32"))


def causal(x):
    place = torch.arange(x.shape[-1], device=x.device)
    return torch.softmax(torch.where(place[:, None] >= place, x * 0.125, float("-inf")), -1)


def scores():
    for dtype in ("fp16", "fp32"):
        for b, s, h, d in HEADS:
            q = (b, h, s, d)
            yield piece("causal_softmax", dtype, [(b, h, s, s)], causal)
            yield piece("causal_scores", dtype, [q, q], lambda q, k: causal(q @ k.transpose(-1, -2)), train=False)
            yield piece("unfused_attention", dtype, [q, q, q],
                        lambda q, k, v: torch.softmax((q @ k.transpose(-1, -2)).float() * 0.125, -1).to(q.dtype) @ v)


ACTIVATIONS = {"relu": torch.relu, "gelu": F.gelu, "silu": F.silu, "mish": F.mish, "elu": F.elu, "leaky_relu": F.leaky_relu,
               "square_relu": lambda x: torch.relu(x).square(), "sigmoid": torch.sigmoid}


def after_products():
    """In place on what a library kernel leaves."""
    for dtype in ("fp16", "fp32"):
        for name, fn in ACTIVATIONS.items():
            yield piece("linear_" + name, dtype, [(4096, 768), (768, 2048), (2048,)],
                        lambda x, w, b, f=fn: f(x @ w + b), train=name in ("relu", "mish", "sigmoid"))
        yield piece("conv_relu", dtype, [(32, 64, 56, 56), (64, 64, 3, 3), (64,)],
                    lambda x, w, b: torch.relu(F.conv2d(x, w, b, padding=1)), prepare=last, layout="nhwc")
        yield piece("linear_gated", dtype, [(4096, 768), (768, 4096)],
                    lambda x, w: F.gelu((x @ w).chunk(2, -1)[0]) * (x @ w).chunk(2, -1)[1])
        yield piece("linear_add", dtype, [(4096, 768), (768, 768), (4096, 768)], lambda x, w, y: y + 0.5 * (x @ w))


def long_rows():
    for dtype in ("bf16", "fp32"):
        for shape in ((16, 512, 768), (4, 1024, 4096)):
            d = shape[2:]
            yield piece("layer_norm", dtype, [shape, d, d], ROW_PIECES["layer_norm"][1])
            yield piece("add_rms_norm", dtype, [shape, d, shape], lambda x, w, y: ROW_PIECES["rms_norm"][1](x + y, w))
            yield piece("embedded_norm", dtype, [(30522, d[0]), shape[1:], d, d],
                        lambda t, p, w, c, b=shape[0]: F.layer_norm(
                            t[(torch.arange(b * p.shape[0], device=t.device) * 7 % 30522).view(b, -1)] + p, w.shape, w, c))
        yield piece("cross_entropy", dtype, [(4096, 32000)],
                    lambda x: F.cross_entropy(x.float(), torch.arange(x.shape[0], device=x.device)))


def pictures():
    x = (16, 64, 64, 64)
    for dtype in ("fp16", "fp32"):
        yield piece("bilinear", dtype, [x], lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), prepare=last, layout="nhwc")
        yield piece("pixel_shuffle", dtype, [x], lambda x: F.pixel_shuffle(x, 2).contiguous(), prepare=last, layout="nhwc")
        yield piece("squeeze", dtype, [x], lambda x: x * F.hardsigmoid(x.mean((2, 3), keepdim=True)), prepare=last, layout="nhwc")
        yield piece("group_norm", dtype, [x, (64,), (64,)],
                    lambda x, w, b: F.silu(F.group_norm(x.float(), 32, w, b)).to(x.dtype), types=(dtype, "fp32", "fp32"))
        yield piece("padded_windows", dtype, [(16, 56, 56, 96)], lambda x: F.pad(x, (0, 0, 0, 7, 0, 7)).view(
            16, 9, 7, 9, 7, 96).transpose(2, 3).contiguous())
        yield piece("max_pool_2", dtype, [x], lambda x: F.max_pool2d(x, 2), prepare=last, layout="nhwc")
        yield piece("avg_pool_2", dtype, [x], lambda x: F.avg_pool2d(x, 2), prepare=last, layout="nhwc")


def generated_more():
    for part in (positions, scores, after_products, long_rows, pictures):
        yield from part()


LENGTHS = [16, 32, 49, 64, 96, 100, 128, 192, 196, 197, 256, 384, 577, 768, 1024]


def generated_rows():
    """Rows that a block holds whole, of lengths that lanes load in different ways: softmax, norms and sums of them."""
    for dtype in ("fp16", "fp32"):
        for length in LENGTHS:
            rows = (2 ** 22 // length // 64, 64, length)
            yield piece("rows_softmax", dtype, [rows], lambda x: torch.softmax(x, -1))
            yield piece("rows_biased_softmax", dtype, [rows, (64, length)], lambda x, b: torch.softmax(x * 0.125 + b, -1).to(x.dtype),
                        types=(dtype, "fp32"))
            yield piece("rows_layer_norm", dtype, [rows, (length,), (length,)], lambda x, w, b, n=length: F.layer_norm(x, (n,), w, b))
            yield piece("rows_square_mean", dtype, [rows], lambda x: x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5),
                        train=False)
            yield piece("rows_largest", dtype, [rows], lambda x: x - x.amax(-1, keepdim=True), train=False)
            yield piece("rows_sum", dtype, [rows], lambda x: x.float().sum(-1), train=False)


def placed(x):
    """A square of whole numbers becomes how far its places are apart."""
    if x.is_floating_point():
        return x
    place = torch.arange(x.shape[0], device=x.device)
    return place[:, None] - place[None] + x.shape[0] - 1


def gathered_by(x, table, index):
    """Scores with a bias of each pair of places, which a table of relative places holds (Swin)."""
    n = x.shape[-1]
    bias = table[index.view(-1)].view(n, n, -1).permute(2, 0, 1).contiguous()
    return torch.softmax((x + bias.unsqueeze(0)).float(), -1).to(x.dtype)


def looped_rows():
    """Softmax of rows that a block goes through twice, for an operand does not lie as the scores do: a mask of each item, a part of a
    larger mask, a gathered bias, scores whose rows a product padded."""
    for dtype in ("fp16", "fp32"):
        for b, h, n in ((32, 8, 128), (64, 8, 196), (16, 8, 256), (64, 6, 392), (8, 8, 512), (4, 4, 1024)):
            x = (b, h, n, n)
            yield piece("item_mask", dtype, [x, (b, 1, 1, n)], lambda x, m: torch.softmax((x * 0.125 + m).float(), -1).to(x.dtype), types=(dtype, "fp32"))
            yield piece("part_mask", dtype, [x, (1, 1, 2 * n, 2 * n)],
                        lambda x, m: torch.softmax(torch.where(m[:, :, :x.shape[-1], :x.shape[-1]] > 0, x * 0.125, -1e4).float(), -1).to(x.dtype),
                        types=(dtype, "fp32"), train=False)
            yield piece("gathered_bias", dtype, [x, (2 * n - 1, h), (n, n)], gathered_by, types=(dtype, "fp32", "int64"), prepare=placed)
            if dtype == "fp16":
                q = (b, h, n, 64)
                yield piece("product_scores", dtype, [q, q, q],
                            lambda q, k, v: torch.softmax((q @ k.transpose(-1, -2)).float() * 0.125, -1).to(q.dtype) @ v)


def spread_values():
    """Gradients that are added to places: of nearest and bilinear growth, of windows folded into an image."""
    for dtype in ("fp16", "fp32"):
        for x in ((16, 64, 48, 48), (64, 128, 28, 28), (128, 240, 14, 14), (16, 64, 96, 96)):
            for name, order in (("nhwc", last), ("nchw", None)):
                yield piece("nearest", dtype, [x], lambda x: F.interpolate(x, scale_factor=2.0), prepare=order, layout=name)
                yield piece("bilinear_more", dtype, [x], lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), prepare=order, layout=name)
            yield piece("nearest_gate", dtype, [x, (x[0], x[1], 2 * x[2], 2 * x[3])],
                        lambda x, y: y * F.interpolate(torch.sigmoid(x), scale_factor=2.0), prepare=last, layout="nhwc")
        for b, c, n in ((32, 384, 128), (16, 192, 784)):
            yield piece("unfold_line", dtype, [(b, c, n, 1)], lambda x: F.unfold(x, (9, 1), padding=(4, 0)))
        for b, c, n in ((32, 192, 28), (64, 64, 28)):
            yield piece("unfold_image", dtype, [(b, c, n, n)], lambda x: F.unfold(x, 3, padding=1, stride=2), stride=2)
            yield piece("unfold_image", dtype, [(b, c, n, n)], lambda x: F.unfold(x, 3, padding=1), stride=1)


def generated_loops():
    for part in (looped_rows, spread_values):
        yield from part()
