"""Kernels that torch.compile generates: pointwise chains, reductions, row-wise kernels."""
import torch
import torch.nn.functional as F

import ops_base
from ops_base import DTYPES, Case, rand

CHAINS = {  # name: (inputs, function)
    "copy": (1, lambda x: x * 1.5),
    "add_relu": (2, lambda a, b: torch.relu(a + b)),
    "gelu": (1, F.gelu),
    "silu_mul": (2, lambda a, b: F.silu(a) * b),
    "long_chain": (2, lambda a, b: torch.relu(torch.tanh(a * 0.5 + b) * a - b + 1.0)),
    "three": (3, lambda a, b, c: torch.where(a > 0, b, c) + a),
    "four": (4, lambda a, b, c, d: a * b + c * d),
    "cast": (1, lambda x: x.float() * 2.0),
    "dropout": (1, lambda x: F.dropout(x, 0.1, True)),
    "sqrt_div": (2, lambda a, b: a / (torch.sqrt(b.abs()) + 1e-6)),
}
ROWS = {
    "softmax": (1, lambda x: torch.softmax(x.float(), -1).to(x.dtype)),
    "layer_norm": (1, lambda x: F.layer_norm(x, x.shape[-1:])),
    "add_layer_norm": (2, lambda a, b: F.layer_norm(a + b, a.shape[-1:])),
    "row_sum": (1, lambda x: x.sum(-1)),
}
COLUMNS = {
    "column_sum": (1, lambda x: x.sum(0)),
    "channel_mean_var": (1, lambda x: torch.var_mean(x.float(), dim=0)),
    "column_sum_product": (2, lambda a, b: (a * b).sum(0)),
}


def compiled(name, dtype, shape, count, fn, prepare=None, **attrs):
    def make():
        torch._dynamo.reset()
        inputs = [rand(shape, dtype) for _ in range(count)]
        inputs = [prepare(x) for x in inputs] if prepare else inputs
        ops_base.allow_tf32(dtype)
        generated = torch.compile(fn)

        def run():
            return generated(*inputs)
        run()
        return run
    return Case("compiled_" + name, dtype, [shape] * count, make, attrs)


def triton():
    for dtype in ("fp32", "fp16", "bf16"):
        for name, (count, fn) in CHAINS.items():
            for shape in ((2 ** 23,), (2 ** 18,)):
                if dtype == "bf16" and len(shape) == 1 and shape[0] < 2 ** 20:
                    continue
                yield compiled(name, dtype, shape, count, fn)
        for name, (count, fn) in ROWS.items():
            for shape in ((8192, 768), (2048, 4096), (1024, 30000)):
                yield compiled(name, dtype, shape, count, fn)
        for name, (count, fn) in COLUMNS.items():
            for shape in ((16384, 768), (100352, 64), (6272, 1024)):
                yield compiled(name, dtype, shape, count, fn)
