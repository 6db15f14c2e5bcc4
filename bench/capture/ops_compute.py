"""Products, convolutions, attention, embeddings, optimizers, RNN, pooling, indexing."""
import torch
import torch.nn.functional as F

import ops_base
from ops_base import DTYPES, LARGE, Case, allow_tf32, aten, both, rand, simple
from ops_memory import channels_last


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


def layer_products(dtype, m, n, k):
    """A linear layer of n outputs and k inputs on m rows: forward, the gradients of its rows and of its weight."""
    yield simple("mm", dtype, [(m, k), (n, k)], lambda a, b: a @ b.t(), layout="tn")
    yield simple("mm", dtype, [(m, n), (n, k)], lambda a, b: a @ b, layout="nn")
    yield simple("mm", dtype, [(m, n), (m, k)], lambda a, b: a.t() @ b, layout="nt")


def batched_products(dtype, b, m, n, k):
    yield simple("bmm", dtype, [(b, m, k), (b, n, k)], lambda x, y: x @ y.transpose(1, 2), layout="tn")
    yield simple("bmm", dtype, [(b, m, k), (b, k, n)], torch.bmm, layout="nn")


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
            yield from batched_products(dtype, b, m, n, k)
    yield simple("mm", "fp64", [(1024, 1024)] * 2, torch.mm, layout="nn")
    yield simple("mv", "fp32", [(4096, 4096), (4096,)], torch.mv)
    yield simple("dot", "fp32", [(LARGE,)] * 2, torch.dot)


# ---------------------------------------------------------------- convolutions

def convolution(x, weight, stride, padding, groups, nhwc, dilation=1):
    """Forward, input gradient and weight gradient of one convolution, of images or over time, as three makers."""
    dimensions = len(x) - 2
    padding = [padding] * dimensions if isinstance(padding, int) else list(padding)
    convolve = {1: F.conv1d, 2: F.conv2d}[dimensions]

    def tensors(dtype):
        image, filters = rand(x, dtype), rand(weight, dtype)
        if nhwc:
            image, filters = channels_last(image), channels_last(filters)
        return image, filters

    def make(part, dtype):
        allow_tf32(dtype)
        image, filters = tensors(dtype)
        place = ([stride] * dimensions, padding, [dilation] * dimensions, False, [0] * dimensions, groups)
        if part == "forward":
            call = lambda: convolve(image, filters, None, stride, padding, dilation, groups)
        else:
            gradient = torch.randn_like(convolve(image, filters, None, stride, padding, dilation, groups))
            mask = [part == "dgrad", part == "wgrad", False]
            call = lambda: aten.convolution_backward(gradient, image, filters, None, *place, mask)

        def run():
            allow_tf32(dtype)
            return call()
        return run
    return make


def conv_cases(op, x, weight, stride, padding, groups, dtype, nhwc, dilation=1):
    """`padding`: of every dimension, or of each."""
    make = convolution(x, weight, stride, padding, groups, nhwc, dilation)
    attrs = {"stride": stride, "padding": padding if isinstance(padding, int) else "x".join(map(str, padding)), "groups": groups,
             "layout": "nhwc" if nhwc else "nchw", "dilation": dilation}
    for part in ("forward", "dgrad", "wgrad"):
        name = op if part == "forward" else f"{op}_{part}"
        yield Case(name, dtype, [x, weight], lambda p=part: make(p, dtype), attrs)


def typed_cases(op, x, weight, stride, padding, groups, orders=(False, True), dilation=1):
    """A layer in TF32 and in 16 bits, its images in each of `orders` (True: channels last)."""
    for dtype in ("tf32", "fp16"):
        for nhwc in orders:
            yield from conv_cases(op, x, weight, stride, padding, groups, dtype, nhwc, dilation)


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
        ids = torch.randint(0, vocab, (count,), device=ops_base.DEVICE)
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
        ids = torch.randint(0, 200000, (count * per_bag,), device=ops_base.DEVICE)
        offsets = torch.arange(0, count * per_bag, per_bag, device=ops_base.DEVICE)

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
        ids = torch.randint(0, rows, (1, count), device=ops_base.DEVICE)
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
        g, torch.zeros(1, device=ops_base.DEVICE), torch.ones(1, device=ops_base.DEVICE)),
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
        net = RNN_KINDS[kind](hidden, hidden, layers).to(ops_base.DEVICE).to(DTYPES[dtype])
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
        cell = cell.to(ops_base.DEVICE).to(DTYPES[dtype])
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
    return torch.randint(0, limit, shape, device=ops_base.DEVICE)


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
    yield simple("arange", "int64", [], lambda: torch.arange(2 ** 20, device=ops_base.DEVICE))
    yield simple("randperm", "int64", [], lambda: torch.randperm(2 ** 18, device=ops_base.DEVICE))


def index():
    yield from indexing()
    yield from selection()
