#!/usr/bin/env python3
"""Images that are sampled at points of a grid, and images that are resized: eager forward and backward, and what torch.compile
generates for the forward pass. Alone on the GPU.

    python3 sampled_images.py SECONDS [COMPUTED...] > sampled_images.csv

Points lie anywhere in an image (`sampled`), or a few pixels beside those of a mesh, as networks place them (`near`). A row for each kernel of a pass: who computes (eager, compiled), what, type, order, images, channels, rows and columns read, rows and
columns made, pass, its place in the pass, name, microseconds (median of five calls)."""
import csv
import math
import sys
import time

import torch
import torch.nn.functional as F

from medians import kernels

TYPES = {"fp32": torch.float32, "fp16": torch.float16}
SAMPLED = [  # images, channels, (rows, columns) read, (rows, columns) of points
    (64, 32, (32, 32), (1360, 4)), (64, 32, (8, 8), (1360, 4)), (64, 32, (32, 32), (100, 4)), (64, 32, (4, 4), (100, 4)),
    (16, 32, (64, 64), (5440, 4)), (128, 16, (16, 16), (340, 4)), (8, 256, (32, 32), (32, 32)), (4, 64, (128, 128), (128, 128)),
    (2, 3, (512, 512), (512, 512)), (16, 128, (56, 56), (28, 28)), (4096, 1, (16, 16), (9, 9)), (1024, 1, (64, 64), (9, 9)),
    (1, 512, (64, 64), (64, 64)), (32, 8, (96, 96), (96, 96)),
]
RESIZED = [  # images, channels, (rows, columns) read, (rows, columns) made
    (16, 256, (28, 28), (56, 56)), (64, 64, (14, 14), (28, 28)), (4, 128, (64, 64), (256, 256)), (8, 3, (256, 256), (224, 224)),
    (1, 768, (14, 14), (24, 24)), (32, 512, (7, 7), (14, 14)),
]
WAYS = {
    "nearest": {"mode": "nearest"}, "bicubic": {"mode": "bicubic", "align_corners": False},
    "bilinear": {"mode": "bilinear", "align_corners": False},
    "smooth_bilinear": {"mode": "bilinear", "align_corners": False, "antialias": True},
    "smooth_bicubic": {"mode": "bicubic", "align_corners": False, "antialias": True},
}


def random(*shape, kind, last=False):
    x = torch.randn(*shape, device="cuda", dtype=kind)
    return x.to(memory_format=torch.channels_last) if last else x


def anywhere(images, made):
    return torch.rand(images, *made, 2, device="cuda") * 2 - 1


def near(images, made, read, pixels=4):
    """Places of a mesh, each moved by up to so many pixels. A few beside each other belong to one place."""
    rows, columns = made
    together = columns if columns <= 4 else 1
    side = math.ceil(math.sqrt(rows * columns / together))
    x = torch.arange(rows * columns, device="cuda") // together
    mesh = torch.stack([x % side, x // side], -1) * (2 / side) - 1
    away = (torch.rand(images, rows * columns, 2, device="cuda") * 2 - 1) * pixels * 2 / max(read)
    return (mesh + away).clamp(-1, 1).view(images, rows, columns, 2)


def cases():
    """Who, what, type, order, case, function of what it reads, what it reads."""
    for name, kind in TYPES.items():
        for case in SAMPLED:
            images, channels, read, made = case
            image = random(images, channels, *read, kind=kind)
            for what, points in (("sampled", anywhere(images, made)), ("near", near(images, made, read))):
                reads = image, points.to(kind)
                for aligned in (False, True):
                    def sample(x, points, aligned=aligned):
                        return F.grid_sample(x, points, mode="bilinear", padding_mode="zeros", align_corners=aligned)
                    yield "eager", what + "_cudnn" if aligned else what, name, "first", case, sample, reads
                    if not aligned:
                        yield "compiled", what, name, "first", case, sample, reads
        for what, arguments in WAYS.items():
            for last in (False, True):
                for case in RESIZED:
                    images, channels, read, made = case
                    if what == "bilinear" and case is not RESIZED[0]:
                        continue  # has laws already

                    def resize(x, made=made, arguments=arguments):
                        return F.interpolate(x, made, **arguments)
                    reads = (random(images, channels, *read, kind=kind, last=last),)
                    yield "eager", what, name, "last" if last else "first", case, resize, reads
                    if not what.startswith("smooth"):
                        yield "compiled", what, name, "last" if last else "first", case, resize, reads


def passes(who, call, reads):
    if who == "compiled":
        torch._dynamo.reset()
        compiled = torch.compile(lambda *x: call(*x) * 2, dynamic=False)

        def forward():
            with torch.no_grad():
                return compiled(*reads)
        yield "forward", kernels(forward)
        return
    reads = [x.detach().requires_grad_() for x in reads]
    yield "forward", kernels(lambda: call(*reads), warm=2)
    out = call(*reads)
    gradient = torch.randn_like(out)
    yield "backward", kernels(lambda: torch.autograd.grad(out, reads, gradient, retain_graph=True), warm=2)


def main():
    end = time.time() + float(sys.argv[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("device who computed type order images channels read made pass place kernel us".split())
    for who, what, kind, order, case, call, reads in cases():
        if sys.argv[2:] and what not in sys.argv[2:]:
            continue
        if time.time() > end:
            print("out of time", file=sys.stderr)
            return
        images, channels, *sides = case
        sizes = ["x".join(map(str, side)) for side in sides]
        try:
            for name, seen in passes(who, call, reads):
                for place, (kernel, us) in enumerate(seen):
                    short = kernel.replace("void ", "").split("(at::")[0][:110].replace(",", ";")
                    out.writerow([torch.cuda.get_device_name(), who, what, kind, order, images, channels, *sizes, name, place, short, us])
        except RuntimeError as error:  # not every way is there in 16 bits
            print(who, what, kind, case, str(error).splitlines()[0], file=sys.stderr)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
