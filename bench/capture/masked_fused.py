#!/usr/bin/env python3
"""What a mask in memory costs fused attention: causal order left to the kernel, the same as a mask of truths for each pair of places,
one for each key of padded items, none. Alone on the GPU.

    python3 masked_fused.py SECONDS > masked_fused.csv

A row for each case and pass: type, items, heads, places, width of a head, dropout, mask (none, causal, pairs, keys), pass, name of the
longest kernel, its microseconds (median of five calls), microseconds of all."""
import csv
import itertools
import sys
import time

import torch
import torch.nn.functional as F

from medians import kernels

SIZES = [(16, 12, 128), (64, 12, 128), (32, 16, 197), (16, 12, 256), (4, 12, 512), (16, 8, 512), (2, 16, 1024), (8, 16, 1024), (2, 32, 2048)]
MASKS = ("none", "causal", "pairs", "keys")


def mask_of(kind, items, places):
    if kind == "pairs":
        return torch.ones(places, places, dtype=torch.bool, device="cuda").tril().expand(items, 1, places, places).contiguous()
    if kind == "keys":
        return torch.ones(items, 1, 1, places, dtype=torch.bool, device="cuda").expand(items, 1, places, places)
    return None


def passes(kind, items, heads, places, width, dropout, mask):
    q, k, v = (torch.randn(items, places, heads, width, device="cuda", dtype=kind, requires_grad=True) for _ in range(3))
    added, causal = mask_of(mask, items, places), mask == "causal"

    def attend():
        return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=added,
                                              dropout_p=dropout, is_causal=causal)
    yield "forward", kernels(attend)
    out = attend()
    gradient = torch.randn_like(out)
    yield "backward", kernels(lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True))


def main():
    end = time.time() + float(sys.argv[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["type", "items", "heads", "places", "width", "dropout", "mask", "pass", "kernel", "us", "all_us"])
    kinds = {"fp16": (torch.float16, (64, 128), (0.0, 0.1)), "fp32": (torch.float32, (64,), (0.0, 0.1))}
    for name, (kind, widths, dropouts) in kinds.items():
        for (items, heads, places), width, dropout, mask in itertools.product(SIZES, widths, dropouts, MASKS):
            if time.time() > end:
                return
            for side, seen in passes(kind, items, heads, places, width, dropout, mask):
                longest = max(seen, key=lambda k: k[1])
                short = longest[0].replace("void ", "").split("(")[0][:80].replace(",", ";")
                out.writerow([name, items, heads, places, width, dropout, mask, side, short, round(longest[1], 2),
                              round(sum(us for _, us in seen), 2)])


if __name__ == "__main__":
    main()
