#!/usr/bin/env python3
"""What torch.compile generates for attention in windows with a table of relative places: the gradient of the table is a sum over all
windows, added to its rows. Alone on the GPU.

    python3 table_sums.py SECONDS > table_sums.csv

A row for each kernel of forward and backward: type of scores, type of the table, places along a side of a window, windows, heads, its
place, name, microseconds (median of five calls)."""
import csv
import sys
import time

import torch

from medians import kernels

SIDES = (7, 8, 10, 12, 16)  # places of a window: 49, 64, 100, 144, 256
WINDOWS = [(16, 32), (64, 16), (256, 8), (1024, 4), (1568, 3), (4096, 3), (24, 24), (96, 12), (384, 6)]  # windows, heads
TYPES = [("fp16", "fp32"), ("fp16", "fp16"), ("fp32", "fp32")]  # of scores, of the table
TORCH = {"fp16": torch.float16, "fp32": torch.float32}
MOST_SCORES = 1.6e8


def places(side):
    """Of each pair of places, the row of the table: (2 side - 1) ways down times as many across."""
    at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
    away = at[:, :, None] - at[:, None, :] + side - 1
    return (away[0] * (2 * side - 1) + away[1]).flatten().cuda()


def attention(index, count):
    def weights(scores, table):
        heads = table.shape[1]
        bias = table[index].view(count, count, heads).permute(2, 0, 1).contiguous()
        return torch.softmax(scores.float() + bias.unsqueeze(0), -1).to(scores.dtype)
    return weights


def passes(side, windows, heads, scores, table):
    count = side * side
    x = torch.randn(windows, heads, count, count, device="cuda", dtype=TORCH[scores], requires_grad=True)
    t = torch.randn((2 * side - 1) ** 2, heads, device="cuda", dtype=TORCH[table], requires_grad=True)
    gradient = torch.randn_like(x)
    torch._dynamo.reset()
    weights = torch.compile(attention(places(side), count), dynamic=False)

    def step():
        x.grad = t.grad = None
        weights(x, t).backward(gradient)
    return kernels(step)


def main():
    end = time.time() + float(sys.argv[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("device scores table side windows heads place kernel us".split())
    for side in SIDES:
        for windows, heads in WINDOWS:
            for scores, table in TYPES:
                if windows * heads * side ** 4 > MOST_SCORES:
                    continue
                if time.time() > end:
                    print("out of time", file=sys.stderr)
                    return
                for place, (kernel, us) in enumerate(passes(side, windows, heads, scores, table)):
                    out.writerow([torch.cuda.get_device_name(), scores, table, side, windows, heads, place, kernel[:150], us])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
