#!/usr/bin/env python3
"""Functions that XLA compiles to one or a few kernels: element-wise fusions, reductions, transposes, scatters.

Under Nsight Compute; a kernel `..xor..` runs before and after each measured function:
  ncu_xla.sh OUT SECONDS
The sidecar (one JSON object a line) lists the functions in launch order.
"""
import argparse
import json
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_command_buffer= --xla_gpu_autotune_level=0")  # kernels, not graphs

import jax
import jax.numpy as jnp
import numpy as np

FLAT = ((2 ** 23,), (2 ** 18,))
ROWS = ((8192, 768), (1024, 30000))
IMAGES = ((32, 56, 56, 256), (32, 14, 14, 1024))

FLAT_OPS = {
    "scale": (1, lambda x: x * 1.5),
    "add_relu": (2, lambda a, b: jnp.maximum(a + b, 0)),
    "gelu": (1, jax.nn.gelu),
    "chain": (2, lambda a, b: jnp.maximum(jnp.tanh(a * 0.5 + b) * a - b + 1.0, 0)),
    "select": (3, lambda a, b, c: jnp.where(a > 0, b, c) + a),
    "sgd": (3, lambda p, m, g: (p - 0.1 * (0.9 * m + g), 0.9 * m + g)),
}
ROW_OPS = {
    "row_sum": (1, lambda x: x.sum(-1)),
    "softmax": (1, lambda x: jax.nn.softmax(x, -1)),
    "layer_norm": (1, lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)),
    "column_sum": (1, lambda x: x.sum(0)),
    "column_sum_product": (2, lambda a, b: (a * b).sum(0)),
    "transpose": (1, lambda x: x.T + 1),
    "gather": (1, lambda x: jnp.take(x, jnp.arange(0, x.shape[0], 2), axis=0)),
}
IMAGE_OPS = {
    "channel_moments": (1, lambda x: (x.astype(jnp.float32).mean((0, 1, 2)), (x.astype(jnp.float32) ** 2).mean((0, 1, 2)))),
    "normalize_relu": (1, lambda x: jnp.maximum((x - 0.1) * 1.3, 0)),
    "max_pool": (1, lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")),
    "to_nchw": (1, lambda x: jnp.transpose(x, (0, 3, 1, 2)).astype(jnp.float32)),
    "bias_gradient": (2, lambda a, b: jnp.where(a > 0, b, 0).astype(jnp.float32).sum((0, 1, 2))),
    "max_pool_gradient": (1, lambda x: jax.grad(lambda y: jax.lax.reduce_window(
        y, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME").astype(jnp.float32).sum())(x)),
}


def cases():
    for dtype in ("bfloat16", "float32"):
        for table, shapes in ((IMAGE_OPS, IMAGES), (ROW_OPS, ROWS), (FLAT_OPS, FLAT)):
            for name, (count, fn) in table.items():
                for shape in shapes:
                    yield name, dtype, shape, count, fn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sidecar", default="ops-xla.jsonl")
    parser.add_argument("--time-limit", type=float, default=1e9)
    args = parser.parse_args()
    start = time.time()
    mark = jax.jit(lambda x: jnp.bitwise_xor(x, 5))
    marker = jnp.zeros(7, jnp.int32)
    jax.block_until_ready(mark(marker))
    with open(args.sidecar, "w") as sidecar:
        for number, (name, dtype, shape, count, fn) in enumerate(cases()):
            if time.time() - start > args.time_limit:
                break
            rng = np.random.default_rng(0)
            inputs = [jnp.asarray(rng.standard_normal(shape, np.float32)).astype(dtype) for _ in range(count)]
            compiled = jax.jit(fn)
            jax.block_until_ready(compiled(*inputs))
            jax.block_until_ready(mark(marker))
            jax.block_until_ready(compiled(*inputs))
            jax.block_until_ready(mark(marker))
            sidecar.write(json.dumps({"id": number, "op": name, "dtype": dtype, "shape": shape, "inputs": count}) + "\n")
            sidecar.flush()


if __name__ == "__main__":
    main()
