#!/usr/bin/env python3
"""What torch.compile generates for rows that lie in memory in other orders than they are numbered: norms, softmax and sums of rows
side by side, of slices of what one product made, of windows that were cut and put back, of rolled and of padded images. Alone on the GPU.

    python3 ordered_rows.py SECONDS > ordered_rows.csv

A row for each kernel: what is computed, order, type, rows, their length, bytes of the operands that it was launched with, its
configuration, name, microseconds (median of five calls)."""
import csv
import sys
import time

import torch
import torch.nn.functional as F

from medians import kernels
from ops_generated import LAUNCHES, note_launches

LENGTHS = (16, 32, 64, 96, 128, 192, 256, 384, 768)
SIDE, WINDOW = 56, 7
SIZES = ((2 ** 24, "fp16"), (2 ** 24, "fp32"), (2 ** 22, "fp16"))  # elements, type
TYPES = {"fp16": torch.float16, "fp32": torch.float32}
BYTES = {"float16": 2, "float32": 4, "int64": 8, "bool": 1}


def layer_norm(x, w, b):
    return F.layer_norm(x, w.shape, w, b)


def mean_square(x, w, b):
    """As Llama norms its rows."""
    return w * (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def unit_length(x, w, b):
    return F.normalize(x.float(), dim=-1).to(x.dtype)


def softmax(x, w, b):
    return torch.softmax(x, -1)


COMPUTED = {"layer_norm": layer_norm, "mean_square": mean_square, "unit_length": unit_length, "softmax": softmax}


def windows(x):
    n, h, w, c = x.shape
    return x.view(n, h // WINDOW, WINDOW, w // WINDOW, WINDOW, c).transpose(2, 3).reshape(-1, WINDOW * WINDOW, c)


def put_back(x, like):
    n, h, w, c = like.shape
    return x.view(n, h // WINDOW, w // WINDOW, WINDOW, WINDOW, c).transpose(2, 3).reshape(n, h, w, c)


def orders(length, elements, kind):
    """Name, operands, what is made of them before rows are reduced."""
    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=kind)
    rows = elements // length
    yield "rows", [random(rows // 64, 64, length)], lambda x: x
    heads = 4
    yield "slices", [random(rows // 64 // heads, 64, 3, heads, length)], lambda x: x.permute(2, 0, 3, 1, 4)[0]
    images = max(1, rows // (SIDE * SIDE))
    x, cut = random(images, SIDE, SIDE, length), random(images * (SIDE // WINDOW) ** 2, WINDOW * WINDOW, length)
    yield "put_back", [x, cut], lambda x, y: x + put_back(y, x)
    yield "rolled", [x, cut], lambda x, y: x + torch.roll(put_back(y, x), (3, 3), (1, 2))
    yield "cut", [x], windows
    yield "turned", [random(images, length, SIDE * SIDE)], lambda x: x.transpose(1, 2)


def asked(order, what, length, few):
    """Every length of rows that lie side by side; elsewhere those of norms, fewer of softmax."""
    if order == "rows":
        return True
    if few or length in (16, 256, 768):
        return False
    return what == "layer_norm" or (what == "softmax" and length in (32, 64, 192)) or (what == "unit_length" and order == "slices")


def cases():
    for elements, name in SIZES:
        for length in LENGTHS:
            for order, operands, before in orders(length, elements, TYPES[name]):
                for what, fn in COMPUTED.items():
                    if asked(order, what, length, elements < SIZES[0][0]):
                        yield what, order, name, length, operands, before, fn


def launched_with(what):
    """Bytes of the operands of each launch of one call and how it was configured."""
    LAUNCHES.clear()
    what()
    torch.cuda.synchronize()
    for launch in LAUNCHES:
        sizes = [(dims, kind) for dims, _, kind in launch["operands"]]
        total = sum(torch.Size(dims).numel() * BYTES[kind] for dims, kind in sizes)
        yield launch["kernel"], total, " ".join(f"{k}={v}" for k, v in launch["config"].items())


def main():
    end = time.time() + float(sys.argv[1])
    note_launches()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("device computed order type rows length bytes config kernel us".split())
    for what, order, name, length, operands, before, fn in cases():
        if time.time() > end:
            print("out of time", file=sys.stderr)
            return
        torch._dynamo.reset()
        w = torch.randn(length, device="cuda", dtype=TYPES[name])
        compiled = torch.compile(lambda *x: fn(before(*x), w, w), dynamic=False)

        def call():
            with torch.no_grad():
                return compiled(*operands)
        times = [us for kernel, us in kernels(call) if "triton" in kernel]
        rows = before(*operands).numel() // length
        for (kernel, size, config), us in zip(launched_with(call), times, strict=True):
            out.writerow([torch.cuda.get_device_name(), what, order, name, rows, length, size, config, kernel[:90], us])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
