#!/usr/bin/env python3
"""Measures the costs of kernels on single operators and writes them as JSON.

  fit.py --features PROGRAM --out configs/kernels/costs.json TABLE.csv.gz...

TABLE: operators under Nsight Compute, as bench/capture/reduce.py writes them. PROGRAM: kernel_features.
Every row of the result is a non-negative sum over things that kernel_features counts, fitted by
kind of kernel, type and variant. Needs numpy.
"""
import argparse
import collections
import json

import numpy as np

import ops

TYPE = ("unknown", "fp32", "tf32", "fp16", "bf16", "fp64", "int64", "int32", "int8", "bool")
ORDER = ("nn", "nt", "tn", "tt")
PASS = ("forward", "input_gradient", "weight_gradient")
PER_THREAD = {"vectorized": lambda f: 8, "unrolled": lambda f: 4, "unrolled_cast": lambda f: 4,
              "strided": lambda f: 4 if TYPE[int(f["data"])] in ("fp16", "bf16", "bool", "int8") else 2}
COLUMN = {"per_multiply": "multiplies", "per_fragment": "fragments", "per_load": "loads", "per_step": "steps",
          "per_element": "elements", "per_warp": "warps"}
# What each kind of inner loop is made of: FFMA and fragment reads; the same and operand copies; loops of a
# warp group around asynchronous copies, and, where TF32 operands are transposed on the way, their elements.
ENGINE = {1: ("per_multiply", "per_fragment", "per_element", "per_warp"),
          2: ("per_multiply", "per_fragment", "per_load", "per_element", "per_warp"),
          3: ("per_multiply", "per_step", "per_element", "per_warp")}
TRANSPOSING = ("per_multiply", "per_step", "per_load", "per_element", "per_warp")
PLAIN = (("per_warp", "warps"), ("per_element", "elements"))
MIN_VARIANT = 5
TILED = ("gemm", "gemm_nvjet", "gemm_xmma", "conv", "conv_xmma", "conv_first_layer", "flash_forward",
         "flash_backward", "triton_template")
SHARED_MATRIX = (("shared_per_multiply", "multiplies"), ("shared_per_load", "loads"),
                 ("shared_per_element", "elements"), ("shared_per_warp", "warps"))
SHARED_PLAIN = (("shared_per_warp", "warps"), ("shared_per_element", "elements"))
COUNTER = {"inst": "smsp__inst_executed", "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared",
           "tensor": "sm__inst_executed_pipe_tensor", "l1": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
           "l1_st": "l1tex__t_sectors_pipe_lsu_mem_global_op_st", "tex": "lts__t_sectors_srcunit_tex"}
SECTOR = 32.0


def non_negative(a, b):
    """Least squares with non-negative coefficients (Lawson and Hanson)."""
    n = a.shape[1]
    chosen, x = np.zeros(n, bool), np.zeros(n)
    for _ in range(10 * n):
        gain = a.T @ (b - a @ x)
        gain[chosen] = -np.inf
        if chosen.all() or gain.max() <= 1e-9 * np.abs(a.T @ b).max():
            break
        chosen[np.argmax(gain)] = True
        while chosen.any():
            s = np.zeros(n)
            s[chosen] = np.linalg.lstsq(a[:, chosen], b, rcond=None)[0]
            if s[chosen].min() > 0:
                x = s
                break
            falling = chosen & (s <= 0)
            step = np.min(x[falling] / (x[falling] - s[falling] + 1e-30))
            x = x + step * (s - x)
            chosen &= x > 1e-12
            x[~chosen] = 0
    return x


def robust_fit(rows, columns, target):
    """Coefficients with the least relative absolute error, and that error."""
    a = np.array([[f[name] for _, name in columns] for f, _ in rows])
    y = np.array([target(f, d) for f, d in rows])
    keep = y > 0
    if not keep.any():
        return np.zeros(len(columns)), 0.0
    a, y = a[keep], y[keep]
    weight = np.ones(len(y))
    for _ in range(25):
        x = non_negative(a * (weight / y)[:, None], weight)
        error = np.abs(a @ x / y - 1)
        weight = 1 / np.sqrt(np.maximum(error, 0.01))
    return x, float(np.mean(error))


def type_of(f):
    """Types of one width cost the same, but for arithmetic that converts them."""
    return TYPE[int(f["math"])]


def group_type(f):
    """BF16 and FP16 matrix kernels are the same programs."""
    kind_type = type_of(f)
    return "fp16" if kind_type == "bf16" and f["multiplies"] > 0 else kind_type


def variant_of(f):
    if f["library"] or f["engine"] == 0:
        return ORDER[int(2 * f["a_k"] + (0 if f["b_k"] else 1))]
    return PASS[int(f["pass"])]


def ratio(values, weights):
    """Weighted median."""
    if len(values) == 0:
        return 1.0
    order = np.argsort(values)
    total = np.cumsum(np.asarray(weights)[order])
    return float(np.asarray(values)[order][np.searchsorted(total, total[-1] / 2)])


def traffic(rows, matrix):
    """L1 and L2 sectors over operand sectors (matrix kernels: over loaded sectors)."""
    out = {}
    def reads(f):
        return (f["loads"] * 32 * f["load_bytes"] if matrix else f["read_bytes"]) / SECTOR
    def multicast(f):
        if not matrix:
            return 1
        side = f["tile_m"] / (f["tile_m"] + f["tile_n"])
        return side / f["cluster_n"] + (1 - side) / f["cluster_m"]
    def writes(f):
        return f["write_bytes"] * f["splits"] / SECTOR
    read = [(f, d) for f, d in rows if reads(f) > 100]
    write = [(f, d) for f, d in rows if writes(f) > 100]
    out["l1_reads"] = ratio([d[COUNTER["l1"]] / reads(f) * (f["load_bytes"] / 16 if matrix else 1) for f, d in read], [reads(f) for f, d in read])
    out["l2_reads"] = ratio([max(0, d[COUNTER["tex"]] - writes(f)) / reads(f) / multicast(f) for f, d in read],
                            [reads(f) for f, d in read])
    out["l1_writes"] = ratio([d[COUNTER["l1_st"]] / writes(f) for f, d in write], [writes(f) for f, d in write])
    return out


def rounded(values):
    return {key: float(f"{value:.4g}") for key, value in values.items()}


def matrix_columns(f):
    names = ENGINE[int(f["engine"])]
    if f["engine"] == 3 and TYPE[int(f["math"])] == "tf32":
        names = TRANSPOSING
    return tuple((name, COLUMN[name]) for name in names)


def cost_row(kind, kind_type, variant, rows, matrix, origin, source):
    columns = matrix_columns(rows[0][0]) if matrix else PLAIN
    x, error = robust_fit(rows, columns, lambda f, d: d[COUNTER["inst"]])
    row = {"kind": kind, "type": kind_type, "variant": variant, "origin": origin,
           "source": f"{source}; {len(rows)} kernels, mean error {100 * error:.0f} %"}
    row |= rounded({name: value for (name, _), value in zip(columns, x) if value > 0})
    shared = SHARED_MATRIX if matrix else SHARED_PLAIN
    x, _ = robust_fit(rows, shared, lambda f, d: d[COUNTER["shared"]])
    row |= rounded({name: value for (name, _), value in zip(shared, x) if value > 0})
    if not matrix or rows[0][0]["engine"] < 2:
        tensor = float(np.median([d[COUNTER["tensor"]] / f["warps"] for f, d in rows]))
        row |= rounded({"tensor_per_warp": tensor})
    row |= rounded(traffic(rows, matrix))
    return row


def elementwise_rows(rows, origin, source):
    """Templates (fixed work, operands, index dimensions) and functors (arithmetic per element)."""
    full = [(f, d) for f, d in rows if f["exact"] and f["elements"] >= f["warps"] * (PER_THREAD[f["kind"]](f) - 0.01)]
    per_warp = lambda f, d: d[COUNTER["inst"]] / f["warps"]
    out, base, functors = [], {}, {}
    by_type = collections.defaultdict(list)
    for f, d in full:
        if f["kind"] == "vectorized":
            by_type[TYPE[int(f["data"])]].append((f, d))
    for kind_type, members in by_type.items():
        base[kind_type] = min(per_warp(f, d) for f, d in members)
        found = collections.defaultdict(list)
        for f, d in members:
            found[f["functor"]].append((per_warp(f, d) - base[kind_type]) / 8)
        for name, values in found.items():
            functors[name, kind_type] = float(np.median(values))
    lowest = min(base.values())
    for kind in PER_THREAD:
        groups = collections.defaultdict(list)
        for f, d in rows:
            if f["kind"] == kind:
                groups[TYPE[int(f["data"])] if kind != "unrolled_cast" else ""].append((f, d))
        for kind_type, members in groups.items():
            out.append(template_row(kind, kind_type, members, base.get(kind_type, lowest), functors, origin, source))
    for (name, kind_type), value in sorted(functors.items()):
        out.append({"kind": "functor " + name, "type": kind_type, "variant": "", "origin": origin,
                    "source": source} | rounded({"per_element": max(value, 0.0)}))
    return out


def template_row(kind, kind_type, members, base, functors, origin, source):
    """One elementwise template. What the functor does is known from the vectorized kernels."""
    full = [(f, d) for f, d in members if f["elements"] >= f["warps"] * (PER_THREAD[kind](f) - 0.01)]
    row = {"kind": kind, "type": kind_type, "variant": "", "origin": origin,
           "source": f"{source}; {len(members)} kernels"}
    if kind == "vectorized":
        row |= rounded({"per_warp": base})
        tails = [d[COUNTER["inst"]] / f["warps"] - base for f, d in members if f["blocks"] == 1]
        row |= rounded({"per_tile": float(np.median(tails)) if tails else 110.0})
    else:
        features = []
        for f, d in full or members:
            threads = PER_THREAD[kind](f)
            rest = d[COUNTER["inst"]] / f["warps"] - threads * functors.get((f["functor"], kind_type), 0)
            dims = f["index_dims"] if kind == "strided" else 0
            features.append(({"one": 1.0, "operand": threads * f["operands"], "dim": threads * dims,
                              "dim_operand": threads * dims * f["operands"]}, max(rest, 1.0)))
        columns = (("per_warp", "one"), ("per_operand", "operand"), ("per_dim", "dim"), ("per_dim_operand", "dim_operand"))
        x, error = robust_fit(features, columns, lambda f, d: d)
        row |= rounded({name: value for (name, _), value in zip(columns, x) if value > 0})
        row["source"] += f", mean error {100 * error:.0f} %"
    tensor = float(np.median([d[COUNTER["tensor"]] / f["warps"] for f, d in members]))
    shared = float(np.median([d[COUNTER["shared"]] / f["warps"] for f, d in members]))
    return row | rounded({"tensor_per_warp": tensor, "shared_per_warp": shared}) | rounded(traffic(members, False))


def multi_tensor_rows(pairs, origin, source):
    """Optimizer kernels: blocks of up to 65536 elements. Only lists whose blocks are full tell the cost."""
    out, functors = [], collections.defaultdict(list)
    for f, d in pairs:
        if ops.attribute(d, "list") == "one_large" and f["blocks"] > 100:
            functors[f["functor"], TYPE[int(f["data"])]].append((f, d))
    if not functors:
        return out
    members = [p for some in functors.values() for p in some]
    per_warp = 25.0  # a block whose tensor ends at once executes these
    row = {"kind": "multi_tensor", "type": "", "variant": "", "origin": origin, "source": source}
    out.append(row | rounded({"per_warp": per_warp, "shared_per_warp": 1.0}))
    for (name, kind_type), some in sorted(functors.items()):
        cost = np.median([(d[COUNTER["inst"]] / f["warps"] - per_warp) / 128 for f, d in some])
        elements = [f["warps"] * 128 * 32 * (2 if TYPE[int(f["data"])] in ("fp16", "bf16") else 4) / SECTOR for f, d in some]
        reads = np.median([d[COUNTER["l1"]] / e for (f, d), e in zip(some, elements)])
        writes = np.median([d[COUNTER["l1_st"]] / e for (f, d), e in zip(some, elements)])
        out.append({"kind": "functor " + name, "type": kind_type, "variant": "", "origin": origin, "source": source}
                   | rounded({"per_element": float(cost), "l1_reads": float(reads), "l1_writes": float(writes)}))
    return out


def fit_rows(pairs, origin, source):
    out = elementwise_rows([p for p in pairs if p[0]["kind"] in PER_THREAD], origin, source)
    out += multi_tensor_rows([p for p in pairs if p[0]["kind"] == "multi_tensor"], origin, source)
    groups = collections.defaultdict(list)
    for f, d in pairs:
        if f["kind"] in PER_THREAD or f["kind"] in ("unknown", "multi_tensor"):
            continue
        matrix = f["multiplies"] > 0
        if matrix and not usable(d):
            continue
        if matrix or f["kind"] not in TILED:
            groups[f["kind"], group_type(f), matrix, f["engine"]].append((f, d))
    for (kind, kind_type, matrix, _), members in sorted(groups.items()):
        out.append(cost_row(kind, kind_type, "", members, matrix, origin, source))
        variants = collections.defaultdict(list)
        for f, d in members:
            variants[variant_of(f)].append((f, d))
        for variant, some in sorted(variants.items()):
            if matrix and len(variants) > 1 and len(some) >= MIN_VARIANT:
                out.append(cost_row(kind, kind_type, variant, some, matrix, origin, source))
    return out


def usable(row):
    """Matrix kernels whose product is known: not those of recurrent layers and of groups of channels."""
    return row["group"] != "rnn" and ops.attribute(row, "groups", "1") == "1"


def unique_pairs(tables, program):
    pairs = []
    for path in tables:
        rows = ops.read_table(path)
        pairs += list(zip(ops.features_of(rows, program), rows))
    return pairs


GENERAL = {
    "launch_cycles": (1000, "cycle", "measured", "kernel duration x clock less the longest residency on an SM"),
    "minimum_active_cycles": (300, "cycle", "measured", "one small block on H200"),
    "counter_window_cycles": (2500, "cycle", "measured", "elapsed less duration x clock under Nsight Compute"),
    "tail_loss": (0.03, "ratio", "fitted", "idle share while blocks drain"),
    "residency_power": (0.4, "exponent", "fitted", "block life over blocks on the SM"),
    "issue_per_instruction": (1.007, "ratio", "measured", "smsp__issue_active over smsp__inst_executed"),
    "occupancy_share": (0.83, "ratio", "measured", "achieved over theoretical occupancy"),
    "occupancy_share_matrix": (0.885, "ratio", "measured", "achieved over theoretical occupancy, GEMM"),
    "hmma_on_gmma": (1.5, "ratio", "measured", "sm__pipe_tensor_cycles_active over instructions on H200"),
    "hmma_short_on_gmma": (2.0, "ratio", "measured", "the same, s1688 with half operands"),
    "unknown_functor": (4.0, "instruction", "measured", "median of the functors measured"),
    "unknown_issue": (0.3, "ratio", "fitted", "median of kernels on H200"),
}


def general(fitted_on):
    out = {}
    for name, (value, unit, kind, source) in GENERAL.items():
        out[name] = {"value": value, "unit": unit, "kind": kind, "source": source}
        if kind == "fitted":
            out[name]["fitted_on"] = fitted_on
    return out


def write(path, rows):
    lines = ",\n    ".join(json.dumps({k: v for k, v in row.items() if v != ""}) for row in rows)
    text = json.dumps({"schema": "tandem.kernels/1", "general": general("single operators on H200")}, indent=2)
    with open(path, "w") as file:
        file.write(text[:-2] + ",\n  \"kinds\": [\n    " + lines + "\n  ]\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--features", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("tables", nargs="+")
    options = parser.parse_args()
    pairs = unique_pairs(options.tables, options.features)
    rows = fit_rows(pairs, "measured", "single operators under Nsight Compute, H200")
    write(options.out, rows)
    print(f"{len(pairs)} kernels, {len(rows)} rows")


if __name__ == "__main__":
    main()
