#!/usr/bin/env python3
"""Layers of volumes (convolutions over three dimensions) in FP16, BF16 and FP32, with and without gradients. Alone on the GPU.

    python3 volumes.py SECONDS > volumes.csv

A row for each kernel of a pass: type, volumes, channels in and out, depth, rows and columns of the input, window, steps, groups, pass,
its place in the pass, name, microseconds (median of five calls)."""
import csv
import sys
import time

import torch
import torch.nn.functional as F

from medians import kernels

LAYERS = [  # channels in, out, (depth, rows, columns), window, steps, groups
    (3, 64, (16, 112, 112), (3, 7, 7), (1, 2, 2), 1), (3, 768, (16, 112, 112), (2, 16, 16), (2, 16, 16), 1),
    (3, 96, (16, 224, 224), (3, 7, 7), (2, 4, 4), 1), (1, 32, (64, 64, 64), (3, 3, 3), (1, 1, 1), 1),
    (32, 32, (64, 64, 64), (3, 3, 3), (1, 1, 1), 1), (32, 64, (32, 32, 32), (3, 3, 3), (1, 1, 1), 1),
    (64, 64, (16, 56, 56), (3, 3, 3), (1, 1, 1), 1), (64, 128, (16, 56, 56), (3, 3, 3), (2, 2, 2), 1),
    (128, 128, (8, 28, 28), (3, 3, 3), (1, 1, 1), 1), (256, 256, (4, 14, 14), (3, 3, 3), (1, 1, 1), 1),
    (512, 512, (2, 7, 7), (3, 3, 3), (1, 1, 1), 1), (64, 144, (16, 56, 56), (1, 3, 3), (1, 1, 1), 1),
    (144, 64, (16, 56, 56), (3, 1, 1), (1, 1, 1), 1), (192, 256, (8, 28, 28), (1, 1, 1), (1, 1, 1), 1),
    (96, 96, (8, 28, 28), (3, 3, 3), (1, 1, 1), 96), (64, 128, (16, 28, 28), (1, 1, 1), (1, 2, 2), 1),
]
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
VOLUMES = (4, 16)


def passes(volumes, layer, kind):
    inputs, outputs, size, window, steps, groups = layer
    x = torch.randn(volumes, inputs, *size, device="cuda", dtype=kind, requires_grad=inputs > 3)
    w = torch.randn(outputs, inputs // groups, *window, device="cuda", dtype=kind, requires_grad=True)
    around = [0 if s == k else k // 2 for k, s in zip(window, steps)]

    def forward():
        return F.conv3d(x, w, None, steps, around, groups=groups)
    yield "forward", kernels(forward, warm=2)
    out = forward()
    gradient = torch.randn_like(out)
    for name, of in (("data", x), ("filter", w)):
        if of.requires_grad:
            yield name, kernels(lambda of=of: torch.autograd.grad(out, of, gradient, retain_graph=True), warm=2)


def main():
    end = time.time() + float(sys.argv[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("device type volumes inputs outputs depth rows columns window steps groups pass place kernel us".split())
    for name, kind in TYPES.items():
        for volumes in VOLUMES:
            for layer in LAYERS:
                if time.time() > end:
                    print("out of time", file=sys.stderr)
                    return
                inputs, outputs, size, window, steps, groups = layer
                sides = ["x".join(map(str, numbers)) for numbers in (window, steps)]
                for side, seen in passes(volumes, layer, kind):
                    for place, (kernel, us) in enumerate(seen):
                        short = kernel.replace("void ", "").split("(")[0][:110].replace(",", ";")
                        out.writerow([torch.cuda.get_device_name(), name, volumes, inputs, outputs, *size, *sides, groups, side, place,
                                      short, us])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
