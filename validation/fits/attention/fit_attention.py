#!/usr/bin/env python3
"""Fits the paces of fused attention kernels and writes them into configs/kernels/time.json.

  fit_attention.py HEADS.csv.gz MASKED.csv.gz CAPTURES... [--out configs/kernels/time.json]

HEADS, MASKED: single operators (bench/capture/ops_heads.py, masked_fused.py); CAPTURES: folders whose manifest is of an H200.
Paces in 16 bits come from HEADS, those in FP32 from MASKED; what cold operands add to them, and where kernels start and end,
from the traces. Prints the error of each part, and that of all traces by folder. Needs scipy and the program zstd. The law: models/kernel/time/attention.h.
"""
import argparse
import collections
import csv
import functools
import glob
import gzip
import heapq
import io
import json
import math
import os
import statistics
import sys

from scipy.optimize import least_squares

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import traces

# Of the H200 they were measured on, the lanes by SM.
SMS, LANES, EXPONENTIALS, CLOCK_MHZ, DRAM_MB_PER_US = 132, 128, 16, 1980, 4.8 * 0.905
FMA = {"fp16": 2048, "fp32": 1024 / 3}  # of an SM and cycle; three TF32 products make one of FP32
ROWS = {("fp16", "forward"): (128, 128), ("fp16", "backward"): (128, 64),
        ("fp32", "forward"): (64, 64), ("fp32", "backward"): (64, 64)}
NAMES = ("floor_us", "start_cycles", "tile_cycles", "wide_ratio", "dropout_cycles", "mask_start_cycles", "mask_cycles",
         "odd_mask_cycles", "diagonal_cycles", "exposed_share")
LOWER = {"start_cycles": 1}  # no block starts at once
UPPER = (40, 4e4, 4e4, 3, 1e4, 1e4, 1e4, 1e4, 2e4, 2)
UNITS = {"us": "us", "cycles": "cycle", "ratio": "ratio", "share": "ratio", "rows": "row", "lanes": "count"}
# Positions of dropout and of the causal flag among the arguments (native_functions.yaml of PyTorch).
OPTIONS = {("cudnn", "forward"): (5, 6), ("efficient", "forward"): (5, 6),
           ("cudnn", "backward"): (13, 14), ("efficient", "backward"): (9, 11)}

Kernel = collections.namedtuple("Kernel", "kind b h queries keys width dropout causal mask us source")


def operators(path):
    """The main kernel of each operator of the sweep."""
    with gzip.open(path, "rb") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file)))
    for row in rows:
        if "prop_wgmma" not in row["kernel"]:
            continue
        shapes = [[int(n) for n in shape.split("x")] for shape in row["shapes"].split(";")]
        options = dict(part.split("=") for part in row["attrs"].split(";"))
        (b, queries, h, width), keys = shapes[0], shapes[1][1]
        kind = ("fp16", "backward" if "backward" in row["op"] else "forward")
        yield Kernel(kind, b, h, queries, keys, width, float(options["dropout"]) > 0, options["causal"] == "True",
                     tuple(shapes[3]) if len(shapes) > 3 else None, float(row["trace_us"]), "operators")


def masked(path):
    """The main kernel of each FP32 operator of the sweep of masks."""
    with gzip.open(path, "rb") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file)))
    for row in rows:
        if row["type"] != "fp32":
            continue
        items, heads, places, width = (int(row[key]) for key in ("items", "heads", "places", "width"))
        mask = (items, 1, 1 if row["mask"] == "keys" else places, places) if row["mask"] in ("keys", "pairs") else None
        yield Kernel(("fp32", row["pass"]), items, heads, places, places, width, float(row["dropout"]) > 0,
                     row["mask"] == "causal", mask, float(row["us"]), "operators")


def library_of(name):
    return next((library for library in ("cudnn", "efficient") if name.startswith("aten::_scaled_dot_product_" + library)), None)


def of_trace(path, source):
    """The main kernel of each attention operation of a trace."""
    for op, kernels in traces.launched(path, library_of):
        library = library_of(op["name"])
        main = [k for k in kernels if "prop_wgmma" in k["name"] or "fmha_cutlass" in k["name"]]
        back = "backward" in op["name"]
        dims, types, values = (op["args"].get(key) or [] for key in ("Input Dims", "Input type", "Concrete Inputs"))
        half = types[1 if back else 0] != "float"
        if not main or half != (library == "cudnn"):
            continue
        q, k = (dims[1], dims[2]) if back else (dims[0], dims[1])
        masks = [tuple(d) for d in dims[3:] if len(d) == 4 and d[2:] == [q[2], k[2]] and d not in (q, k)]
        part = "backward" if back else "forward"
        dropout, causal = (values[i] for i in OPTIONS[library, part])
        yield Kernel(("fp16" if half else "fp32", part), q[0], q[1], q[2], k[2], q[3], float(dropout) > 0, causal == "True",
                     masks[0] if masks else None, main[0]["dur"], source)


@functools.lru_cache(maxsize=None)
def tiles_by_place(kind, queries, keys):
    """Tiles that the blocks of a head walk over in causal order, and of a block that sees all."""
    own_rows, walked_rows = ROWS[kind]
    back = kind[1] == "backward"
    own, walked = math.ceil((keys if back else queries) / own_rows), math.ceil((queries if back else keys) / walked_rows)
    if back:
        return [walked - min(walked - 1, i * own_rows // walked_rows) for i in range(own)], walked
    return [min(walked, math.ceil((i + 1) * own_rows / walked_rows)) for i in range(own)], walked


def last_cycles(k, start, tile):
    """Of the SM that ends last: the places of a head one after the other, each block to the SM that is free first."""
    seen, walked = tiles_by_place(k.kind, k.queries, k.keys)
    blocks = len(seen) * k.b * k.h
    if not k.causal:
        return math.ceil(blocks / SMS) * (start + walked * tile)
    if blocks > 16 * SMS:
        return math.ceil(blocks / SMS) * (start + (walked + 1) / 2 * tile)
    free, end = [0.0] * SMS, 0.0
    for block in range(blocks):
        until = free[0] + start + seen[block % len(seen)] * tile
        heapq.heapreplace(free, until)
        end = max(end, until)
    return end


def predicted(k, p):
    p = dict(zip(NAMES, p))
    own_rows, walked_rows = ROWS[k.kind]
    back, wide = k.kind[1] == "backward", k.width > 64
    products = (5 if back else 2) * own_rows * walked_rows * 64 * math.ceil(k.width / 64) / FMA[k.kind[0]]
    ratio = p["wide_ratio"] if wide else 1
    tile = products + own_rows * walked_rows / EXPONENTIALS + p["tile_cycles"] * ratio
    start = p["start_cycles"] * ratio
    if k.dropout:
        tile += p["dropout_cycles"]
    if k.mask:
        tile += p["mask_cycles"] + (p["odd_mask_cycles"] if k.mask[-1] % 8 else 0)
        start += p["mask_start_cycles"]
    if k.causal:
        start += p["diagonal_cycles"]
    cycles = last_cycles(k, start, tile)
    size = 2 if k.kind[0] == "fp16" else 4
    heads = k.b * k.h * k.width * size
    moved = heads * (3 * k.queries + 4 * k.keys) + heads * k.queries * 4 / size * 2 if back else 2 * heads * (k.queries + k.keys)
    memory = (moved + size * math.prod(k.mask or (0,))) / DRAM_MB_PER_US / 1e6
    compute = cycles / CLOCK_MHZ
    return p["floor_us"] + max(memory, compute + p["exposed_share"] * memory)


def fit(kernels, start, free):
    """`start` with the values of the names in `free` fitted."""
    chosen = [NAMES.index(name) for name in free]

    def whole(x):
        p = list(start)
        for i, value in zip(chosen, x):
            p[i] = value
        return p

    def residuals(x):
        return [math.log(predicted(k, whole(x)) / k.us) for k in kernels]
    found = least_squares(residuals, [max(start[i], 1e-3) for i in chosen], loss="soft_l1", f_scale=0.05,
                          bounds=([LOWER.get(NAMES[i], 0) for i in chosen], [UPPER[i] for i in chosen]), x_scale=[UPPER[i] / 10 for i in chosen])
    return whole(found.x)


def report(text, kernels, p):
    if kernels:
        off = [math.log(predicted(k, p) / k.us) for k in kernels]
        print(f"{text:70s} {len(off):4d}  mean {statistics.mean(map(abs, off)):.3f}  bias {statistics.mean(off):+.3f}  worst "
              f"{max(off, key=abs):+.3f}")


def sourced(name, value, kind, fitted):
    unit = UNITS[name.rsplit("_", 1)[-1]]
    if name in fitted:
        source, on = fitted[name]
        return {"value": float(f"{value if value > 1e-3 else 0:.3g}"), "unit": unit, "kind": "fitted", "source": source, "fitted_on": on}
    why = "tile of the kernel" if unit == "row" else "H200" if unit == "count" else "not measured" if value else "none seen"
    return {"value": float(f"{value if value > 1e-3 else 0:.3g}"), "unit": unit, "kind": "spec", "source": why}


def fitted_paces(swept, traced, aside):
    """Prints how well each fits."""
    sweep = "single operators of the H200, 2026-11-24 (bench/capture/ops_heads.py), cuDNN 9.19"
    masks = "single operators of the H200, 2026-11-30 (bench/capture/masked_fused.py)"
    traces = "attention kernels in the H200 traces until 2026-11-22"
    for kind, rows in ROWS.items():
        known = [k for k in traced if k.kind == kind and k.source not in aside]
        if kind[0] == "fp16":
            ops = [k for k in swept if k.kind == kind and k.queries > 1]
            back = kind[1] == "backward"
            free = [n for n in NAMES if back or n != "exposed_share"]
            p = fit(ops, [2, 1500, 1000, 1.3, 1500, 1000, 1000, 1000, 500, 0.3 if back else 0], free)
            report(f"{kind} operators", ops, p)
            last = ["floor_us", "exposed_share"]
            p = fit(known, p, last)
            fitted = {**{n: ("cuDNN's fused kernels of all shapes", sweep) for n in free},
                      **{n: ("what operands from DRAM add", traces) for n in last}}
        else:
            free = ["floor_us", "start_cycles", "tile_cycles", "dropout_cycles", "mask_cycles", "diagonal_cycles"]
            ops = [k for k in swept if k.kind == kind]
            p = fit(ops, [8, 800, 7000, 2, 3000, 0, 300, 0, 5000, 0], free)
            report(f"{kind} operators", ops, p)
            p = fit(known, p, ["floor_us"])
            fitted = {**{n: ("PyTorch's memory-efficient kernels", masks) for n in free},
                      "floor_us": ("what kernels in steps take more", traces)}
        report(f"{kind} traces", known, p)
        for folder in sorted({k.source for k in traced}):
            report(f"    {folder}", [k for k in traced if k.kind == kind and k.source == folder], p)
        values = {"own_rows": rows[0], "walked_rows": rows[1], "lanes": LANES, **dict(zip(NAMES, p))}
        yield {"type": kind[0], "pass": kind[1],
               "values": {name: sourced(name, value, kind, fitted) for name, value in values.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("heads")
    parser.add_argument("masked")
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--out")
    parser.add_argument("--aside", default="next|blind|later", help="folders with such names are only scored")
    args = parser.parse_args()
    traced = traces.medians(k for folder in args.captures for path in sorted(glob.glob(folder + "/traces/*.zst"))
                    for k in of_trace(path, os.path.basename(folder)))
    aside = {k.source for k in traced if any(part in k.source for part in args.aside.split("|"))}
    swept = traces.medians(operators(args.heads)) + traces.medians(masked(args.masked))
    paces = list(fitted_paces(swept, traced, aside))
    if args.out:
        with open(args.out, encoding="utf-8") as file:
            config = json.load(file)
        # Those of learned masks are measured in steps alone, and stay.
        config["attention"] = paces + [p for p in config["attention"] if p.get("mask") == "learned"]
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
