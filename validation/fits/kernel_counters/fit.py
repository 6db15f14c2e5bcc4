#!/usr/bin/env python3
"""Measures the costs of kernels on single operators and writes them as JSON.

  fit.py --features PROGRAM --out FILE.json [--captures DIR [--without MODEL]] TABLE.csv.gz...

TABLE: operators under Nsight Compute, as bench/capture/reduce.py writes them. PROGRAM: kernel_features.
Kinds that no table holds are fitted on the networks of --captures (counters/, traces/), except those whose
name starts with MODEL: what is scored on a network must not know it. Every row of the result is a
non-negative sum over things that kernel_features counts, fitted by kind of kernel and type. Needs numpy.
"""
import argparse
import collections
import glob
import json
import os

import numpy as np

import ops
from constants import general

TYPE = ("unknown", "fp32", "tf32", "fp16", "bf16", "fp64", "int64", "int32", "int8", "bool")
PER_THREAD = {"vectorized": lambda f: 8, "unrolled": lambda f: 4, "unrolled_cast": lambda f: 4,
              "strided": lambda f: 4 if TYPE[int(f["data"])] in ("fp16", "bf16", "bool", "int8") else 2,
              "strided_cast": lambda f: 4}
COLUMN = {"per_multiply": "multiplies", "per_fragment": "fragments", "per_load": "loads",
          "per_transposed": "transposed", "per_step": "steps",
          "per_element": "elements", "per_warp": "warps", "per_tap": "taps", "per_busy": "busy"}
# What each kind of inner loop is made of: FFMA and fragment reads; the same and operand copies; loops of a
# warp group around asynchronous copies, and, where TF32 operands are transposed on the way, their elements.
ENGINE = {1: ("per_multiply", "per_fragment", "per_element", "per_warp"),
          2: ("per_multiply", "per_fragment", "per_load", "per_element", "per_warp"),
          3: ("per_multiply", "per_step", "per_element", "per_warp")}
# Softmax: rows, and scores that are dropped, masked and compared with places.
ATTENTION = (("per_row", "rows_worked"), ("per_dropped", "dropped"), ("per_masked", "masked"), ("per_compared", "compared"))
TRANSPOSING = ("per_multiply", "per_step", "per_transposed", "per_element", "per_warp")
PLAIN = (("per_warp", "warps"), ("per_element", "elements"))
ROWS = {"embedding_bag": (("per_row", "rows"),), "reduce": (("per_indexed", "indexed"),)}
# A warp of index_put takes an index, however short its row. Norms of short rows leave warps idle. Threads of
# depthwise kernels do a fixed number of results, or a share of all of them.
BY_THREAD = ("depthwise", "depthwise_generic", "depthwise_gradient", "depthwise_generic_gradient",
             "depthwise_nhwc", "depthwise_nhwc_vectors", "depthwise_nhwc_gradient")
BY_SHARE = ("depthwise_shared", "depthwise_shared_weights", "depthwise_tiled", "depthwise_tiled_weights",
            "depthwise_weights", "depthwise_grouped_weights", "depthwise_nhwc_weights")
COUNTED = ({"index_put": (("per_warp", "warps"),), "layer_norm": PLAIN + (("per_busy", "busy"),)}
           | {kind: (("per_warp", "warps"), ("per_tap", "taps")) for kind in BY_THREAD}
           | {kind: PLAIN + (("per_multiply", "multiplies"),) for kind in BY_SHARE}
           | {"convolve_sgemm": (("per_multiply", "multiplies"), ("per_warp", "warps"))})
TILED = ("gemm", "gemm_nvjet", "gemm_xmma", "conv", "conv_xmma", "conv_first_layer", "flash_forward",
         "flash_backward", "fmha_forward", "fmha_backward", "triton_template")
SHARED_MATRIX = (("shared_per_fragment", "fragments"), ("shared_per_load", "loads"),
                 ("shared_per_transposed", "transposed"), ("shared_per_narrow", "narrow"),
                 ("shared_per_element", "elements"), ("shared_per_warp", "warps"))
SHARED_PLAIN = (("shared_per_warp", "warps"), ("shared_per_element", "elements"))
SHARED_DIRECT = (("shared_per_multiply", "multiplies"), ("shared_per_warp", "warps"))
DIRECT = {"convolve_sgemm", "depthwise_shared_weights"}  # what they load they multiply at once
COUNTER = {"inst": "smsp__inst_executed", "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared",
           "tensor": "sm__inst_executed_pipe_tensor", "l1": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
           "l1_st": "l1tex__t_sectors_pipe_lsu_mem_global_op_st", "tex": "lts__t_sectors_srcunit_tex"}
SECTOR = 32.0
READ_GBPS = 4670.0  # dram_read_gbps of configs/gpus/h200_sxm.json


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


def least_absolute(a, y, square, rounds=25):
    """Non-negative coefficients x of a x = y with the least absolute error. Errors below `square` count by their square."""
    weight = np.ones(len(y))
    for _ in range(rounds):
        x = non_negative(a * weight[:, None], weight * y)
        weight = 1 / np.sqrt(np.maximum(np.abs(a @ x - y), square))
    return x


def least_relative(a, y):
    """Non-negative coefficients x of a x = y with the least relative absolute error, and the error of each row."""
    x = least_absolute(a / y[:, None], np.ones(len(y)), 0.01)
    return x, np.abs(a @ x / y - 1)


def least_factor(a, y, square=0.15):
    """Non-negative coefficients x of a x = y with the least mean |log(a x / y)|, and the relative error of each row: half and
    twice count alike, where least relative errors would rather be low. Logarithms below `square` count by their square."""
    weight, scale = np.ones(len(y)), np.array(y, float)
    for _ in range(60):
        x = non_negative(a * (weight / scale)[:, None], weight * y / scale)
        factor = np.clip(a @ x / y, 1e-3, 1e3)
        scale = np.sqrt(scale * y * np.clip(factor, 0.25, 4.0))
        weight = 1 / np.sqrt(np.maximum(np.abs(np.log(factor)), square))
    return x, np.abs(a @ x / y - 1)


def robust_fit(rows, columns, target):
    """Coefficients with the least relative absolute error, and that error."""
    a = np.array([[f[name] for _, name in columns] for f, _ in rows])
    y = np.array([target(f, d) for f, d in rows])
    keep = y > 0
    if not keep.any():
        return np.zeros(len(columns)), 0.0
    x, error = least_relative(a[keep], y[keep])
    return x, float(np.mean(error))


def is_tiled(f):
    """Products in tiles; depthwise kernels multiply without them."""
    return f["multiplies"] > 0 and f["tile_m"] > 0


def type_of(f):
    """Types of one width cost the same, but for arithmetic that converts them."""
    return TYPE[int(f["math"])]


def group_type(f):
    """BF16 and FP16 matrix kernels are the same programs."""
    kind_type = type_of(f)
    return "fp16" if kind_type == "bf16" and is_tiled(f) else kind_type


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
    short = lambda f: f["load_bytes"] / 16 if matrix else 1
    fetched = lambda f: f["l1_read_bytes"] / SECTOR or reads(f)  # strided loads take sectors of their own
    out["l1_reads"] = ratio([d[COUNTER["l1"]] / fetched(f) * short(f) for f, d in read],
                            [fetched(f) for f, d in read])
    scattered = [(f, d) for f, d in read if f["l1_read_bytes"] > 2 * f["read_bytes"]]
    if scattered:  # of sectors that lanes load by themselves, L1 keeps a part until a neighbour needs them
        read = [(f, d) for f, d in read if f["l1_read_bytes"] <= 2 * f["read_bytes"]]
        again = [f["l1_read_bytes"] / SECTOR - reads(f) for f, d in scattered]
        missed = [d[COUNTER["tex"]] - writes(f) - reads(f) for f, d in scattered]
        out["l2_scattered"] = ratio([m / a for m, a in zip(missed, again)], again)
    # Products are few and differ by a thousand: the largest one should not decide alone.
    out["l2_reads"] = ratio([max(0, d[COUNTER["tex"]] - writes(f)) / reads(f) / multicast(f) for f, d in read],
                            [reads(f) ** (0.5 if matrix else 1.0) for f, d in read])
    out["l1_writes"] = ratio([d[COUNTER["l1_st"]] / writes(f) for f, d in write],
                             [writes(f) for f, d in write])
    return out


def rates(rows):
    """What the kind does a cycle that an SMSP is active: medians, long kernels count more. Only of single
    operators, so that captures without shapes can be scored on networks."""
    active = [d["smsp__cycles_active"] for _, d in rows]
    readable = [d["gpu__time_duration"] * READ_GBPS / SECTOR for _, d in rows]  # ns x GB/s
    def median(counter, base):
        return ratio([d.get(counter, 0.0) / max(b, 1.0) for (_, d), b in zip(rows, base)], active)
    return {"rate_issue": median("smsp__issue_active", active),
            "rate_tensor": median("sm__pipe_tensor_cycles_active", active),
            "rate_l1": median("l1tex__t_sectors", active), "rate_l2": median("lts__t_sectors", active),
            "rate_shared": median(COUNTER["shared"], active),
            "rate_dram_reads": median("dram__sectors_read", readable),
            "rate_dram_writes": median("dram__sectors_write", readable)}


def rounded(values):
    return {key: float(f"{value:.4g}") for key, value in values.items()}


def matrix_columns(f):
    names = ENGINE[int(f["engine"])]
    if f["engine"] == 3 and TYPE[int(f["math"])] == "tf32":
        names = TRANSPOSING
    return tuple((name, COLUMN[name]) for name in names) + (ATTENTION if f["family"] == "attention" else ())


def cost_row(kind, kind_type, rows, shared_rows, origin, source):
    """Coefficients of one kind and type; shared memory is fitted on all types together."""
    matrix = is_tiled(rows[0][0])
    columns = matrix_columns(rows[0][0]) if matrix else COUNTED.get(kind, PLAIN + ROWS.get(kind, ()))
    x, error = robust_fit(rows, columns, lambda f, d: d[COUNTER["inst"]])
    row = {"kind": kind, "type": kind_type, "origin": origin,
           "source": f"{source}; {len(rows)} kernels, mean error {100 * error:.0f} %"}
    row |= rounded({"error": error})
    row |= rounded({name: value for (name, _), value in zip(columns, x) if value > 0})
    shared = SHARED_MATRIX if matrix else SHARED_DIRECT if kind in DIRECT else SHARED_PLAIN
    x, _ = robust_fit(shared_rows, shared, lambda f, d: d[COUNTER["shared"]])
    row |= rounded({name: value for (name, _), value in zip(shared, x) if value > 0})
    if not matrix or rows[0][0]["engine"] < 2:
        tensor = float(np.median([d[COUNTER["tensor"]] / f["warps"] for f, d in rows]))
        row |= rounded({"tensor_per_warp": tensor})
    row |= rounded(traffic(rows, matrix))
    if kind in BY_THREAD + BY_SHARE + ("convolve_sgemm",):  # what they load follows what they multiply
        row |= rounded({"l1_per_multiply": ratio([d[COUNTER["l1"]] / f["multiplies"] for f, d in rows],
                                                 [f["multiplies"] for f, d in rows])})
    return row | rounded(rates(rows)) if origin == "measured" else row


# Groups whose operators state the strides of their operands: the others' indices have more dimensions than one sees.
STATED = ("layout", "pointwise")


def fills_its_warps(f):
    return f["elements"] >= f["warps"] * (PER_THREAD[f["kind"]](f) - 0.01)


def elementwise_rows(rows, origin, source):
    """Templates (fixed work, operands, index dimensions) and functors (arithmetic per element)."""
    full = [(f, d) for f, d in rows if f["exact"] and fills_its_warps(f)]
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
                groups["" if kind.endswith("_cast") else TYPE[int(f["data"])]].append((f, d))
        for kind_type, members in groups.items():
            alike = [r for r in out if kind == "strided_cast" and (r["kind"], r["type"]) == ("strided", "fp16")]
            out.append(template_row(kind, kind_type, members, base.get(kind_type, lowest), functors,
                                    alike[0] if alike else {}, origin, source))
    for (name, kind_type), value in sorted(functors.items()):
        out.append({"kind": "functor " + name, "type": kind_type, "origin": origin,
                    "source": source} | rounded({"per_element": max(value, 0.0)}))
    return out


def template_row(kind, kind_type, members, base, functors, index, origin, source):
    """One elementwise template. What the functor does is known from the vectorized kernels; `index` is the row of a
    template that finds its elements in the same way, to which this one adds the conversion of each operand."""
    stated = [(f, d) for f, d in members if d["group"] in STATED]
    if kind == "strided" and stated:
        members = stated
    full = [(f, d) for f, d in members if fills_its_warps(f)]
    row = {"kind": kind, "type": kind_type, "origin": origin,
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
            dims = f["index_dims"] if kind.startswith("strided") else 0
            rest -= index.get("per_warp", 0) + threads * dims * (
                index.get("per_dim", 0) + index.get("per_dim_operand", 0) * f["operands"])
            features.append(({"one": 1.0, "operand": threads * f["operands"], "dim": threads * dims,
                              "dim_operand": threads * dims * f["operands"]}, max(rest, 1.0)))
        columns = (("per_warp", "one"), ("per_operand", "operand"), ("per_dim", "dim"),
                   ("per_dim_operand", "dim_operand"))
        if index:
            columns = (("per_operand", "operand"),)
        x, error = robust_fit(features, columns, lambda f, d: d)
        row |= {key: index[key] for key in ("per_warp", "per_dim", "per_dim_operand") if key in index}
        row |= rounded({name: value for (name, _), value in zip(columns, x) if value > 0})
        row["source"] += f", mean error {100 * error:.0f} %"
    tensor = float(np.median([d[COUNTER["tensor"]] / f["warps"] for f, d in members]))
    shared = float(np.median([d[COUNTER["shared"]] / f["warps"] for f, d in members]))
    row |= rounded({"tensor_per_warp": tensor, "shared_per_warp": shared})
    return row | rounded(traffic(members, False)) | rounded(rates(members) if origin == "measured" else {})


def multi_tensor_rows(pairs, origin, source):
    """Optimizer kernels: blocks of up to 65536 elements. Lists whose blocks are full tell the cost; those of
    networks are as full as kernel_features assumes."""
    out, functors = [], collections.defaultdict(list)
    for f, d in pairs:
        if (d["group"] == "network" or ops.attribute(d, "list") == "one_large") and f["blocks"] > 100:
            functors[f["functor"], TYPE[int(f["data"])]].append((f, d))
    if not functors:
        return out
    members = [p for some in functors.values() for p in some]
    per_warp = 25.0  # a block whose tensor ends at once executes these
    row = {"kind": "multi_tensor", "type": "", "origin": origin, "source": source}
    row |= rounded({"per_warp": per_warp, "shared_per_warp": 1.0})
    out.append(row | rounded(rates(members) if origin == "measured" else {}))
    for (name, kind_type), some in sorted(functors.items()):
        fill = [f["elements"] / f["warps"] / 128 if d["group"] == "network" else 1.0 for f, d in some]
        cost = np.median([(d[COUNTER["inst"]] / f["warps"] - per_warp) / 128 / full
                          for (f, d), full in zip(some, fill)])
        width = 2 if kind_type in ("fp16", "bf16") else 4
        elements = [full * f["warps"] * 128 * 32 * width / SECTOR for (f, _), full in zip(some, fill)]
        reads = np.median([d[COUNTER["l1"]] / e for (f, d), e in zip(some, elements)])
        writes = np.median([d[COUNTER["l1_st"]] / e for (f, d), e in zip(some, elements)])
        row = {"kind": "functor " + name, "type": kind_type, "origin": origin, "source": source}
        out.append(row | rounded({"per_element": float(cost), "l1_reads": float(reads),
                                  "l1_writes": float(writes)}))
    return out


# Operators that launch elementwise kernels on tensors of their own.
FOREIGN = ("rnn", "attention", "heads_counted")


def fit_rows(pairs, origin, source):
    own = [p for p in pairs if p[1]["group"] not in FOREIGN]
    out = elementwise_rows([p for p in own if p[0]["kind"] in PER_THREAD], origin, source)
    out += multi_tensor_rows([p for p in pairs if p[0]["kind"] == "multi_tensor"], origin, source)
    groups = collections.defaultdict(list)
    for f, d in pairs:
        if f["kind"] in PER_THREAD or f["kind"] in ("unknown", "multi_tensor"):
            continue
        matrix = is_tiled(f)
        if f["kind"] == "reduce" and d["group"] not in ("reduce", "pool", "gemm"):
            continue  # a part of an operator, of tensors of its own
        if f["kind"].startswith("depthwise") and f["multiplies"] <= 0:
            continue  # its shapes are not known
        if matrix and not usable(f, d):
            continue
        if d["group"] in ("attention", "heads_counted") and f["family"] != "attention":
            continue  # launched by an operator whose shapes are not theirs
        if d["group"].startswith("triton") and d["kernel_index"] != "0":
            continue  # adds up what the first kernel left: its size is not stated
        if matrix or f["kind"] not in TILED:
            groups[f["kind"], group_type(f), matrix, f["engine"]].append((f, d))
    for (kind, kind_type, matrix, engine), members in sorted(groups.items()):
        alike = [some for (k, _, m, e), some in groups.items() if (k, m, e) == (kind, matrix, engine)]
        shared = [pair for some in alike for pair in some]
        row = cost_row(kind, kind_type, members, shared if matrix else members, origin, source)
        if engine == 3 and any((k, t, m) == (kind, kind_type, matrix) and e != 3 for k, t, m, e in groups):
            row = {"kind": kind, "type": kind_type, "engine": "gmma"} | row
        out.append(row)
    return out


def usable(f, row):
    """Matrix kernels whose product is known: not those of recurrent layers, of groups of channels, and of
    convolutions in a transformed domain."""
    transformed = row["group"] == "conv" and f["kind"] == "gemm" and any(n > 1 for n in row["dims"][1][2:])
    return row["group"] != "rnn" and ops.attribute(row, "groups", "1") == "1" and not transformed


def unique_pairs(tables, program):
    """Features and counters of each kernel. An operator that launches one many times counts once."""
    pairs = []
    for path in tables:
        launches = {}
        for row in ops.read_table(path):
            launches.setdefault((row["id"], row["kernel"], row["grid"], row["block"]), row)
        rows = list(launches.values())
        pairs += list(zip(ops.features_of(rows, program), rows))
    return pairs


def capture_pairs(folder, without, program, only=""):
    """Kernels of networks. Their rows are features and counters at once."""
    pairs = []
    for path in sorted(glob.glob(os.path.join(folder, "counters", "*.csv.*"))):
        name = os.path.basename(path).split(".csv.")[0]
        traces = glob.glob(os.path.join(folder, "traces", name + ".json.*"))
        if traces and name.startswith(only) and not (without and name.startswith(without)):
            for row in ops.run_features(program, [traces[0], path]):
                row["l1tex__t_sectors_pipe_lsu_mem_global_op_ld"] = max(
                    0.0, row["l1tex__t_sectors"] - row["write_bytes"] / SECTOR)
                row["l1tex__t_sectors_pipe_lsu_mem_global_op_st"] = row["write_bytes"] / SECTOR
                row["group"], row["attrs"] = "network", ""
                pairs.append((row, row))
    return pairs


def price_masks(rows, pairs, source):
    """What a score costs more to which a mask in memory is added. No table holds such operators: of a network's kernels,
    the instructions that the other prices leave."""
    for row in rows:
        same = [f for f, _ in pairs if f["masked"] > 0 and f["kind"] == row["kind"]
                and (f["engine"] == 3) == (row.get("engine") == "gmma")]
        if same:
            columns = matrix_columns(same[0])
            rest = [f[COUNTER["inst"]] - sum(row.get(name, 0) * f[column] for name, column in columns) for f in same]
            row |= rounded({"per_masked": max(0.0, float(np.median([r / f["masked"] for r, f in zip(rest, same)])))})
            row["source"] += source


# Kinds that no table holds, and the measured ones that most likely behave alike while they run.
STAND_INS = {"triton_pointwise": "vectorized", "triton_reduction": "reduce", "triton_persistent": "layer_norm",
             "xla_loop": "vectorized", "xla_reduction": "reduce", "xla_window": "max_pool",
             "xla_scatter": "index_add", "xla_transpose": "nchw_to_nhwc", "eigen": "vectorized",
             "bias": "strided", "cat": "cat_vectorized", "index_select": "row_gather",
             "bn_statistics": "norm_moments", "bn_transform": "bn_inference",
             "bn_statistics_nhwc": "norm_moments", "strided_cast": "strided", "device_reduce": "reduce",
             "apply_optimizer": "multi_tensor", "fmha_forward": "flash_forward",
             "fmha_backward": "flash_backward"}


def assumed(rows):
    """Rows of kinds that were not measured: only the rates of their stand-ins."""
    out = []
    known = {row["kind"] for row in rows}
    for kind, other in STAND_INS.items():
        for row in rows:
            rate = {key: value for key, value in row.items() if key.startswith("rate_")}
            if kind not in known and row["kind"] == other and rate:
                out.append({"kind": kind, "type": row["type"], "origin": "assumed",
                            "source": "as " + other} | rate)
    return out


def missing(rows, known):
    """Rows whose kind and width of type are not among the known ones."""
    width = lambda row: {"bf16": "fp16", "tf32": "fp32", "int32": "fp32"}.get(row["type"], row["type"])
    have = {(row["kind"], width(row)) for row in known}
    return [row for row in rows if (row["kind"], width(row)) not in have]


def write(path, rows):
    lines = ",\n    ".join(json.dumps({k: v for k, v in row.items() if v != ""}) for row in rows)
    text = json.dumps({"schema": "tandem.kernels/1", "general": general("single operators on H200")}, indent=2)
    with open(path, "w") as file:
        file.write(text[:-2] + ",\n  \"kinds\": [\n    " + lines + "\n  ]\n}\n")


def kinds_of(path):
    with open(path) as file:
        return json.load(file)["kinds"]


def replace_kinds(path, rows):
    """The rows anew, a line each; what stands before them stays as it is."""
    with open(path) as file:
        old = file.read()
    head = old[:old.index('"kinds": [')]
    lines = ",\n    ".join(json.dumps(row) for row in rows)
    with open(path, "w") as file:
        file.write(head + '"kinds": [\n    ' + lines + "\n  ]\n}\n")


def new_row(old, rows, kinds):
    """`old`, or of the named kinds the row of the same kernels that has been fitted now."""
    key = lambda row: [row.get(name, "") for name in ("kind", "type", "engine")]
    same = [row for row in rows if key(row) == key(old)]
    return {k: v for k, v in same[0].items() if v != ""} if old["kind"] in kinds and same else old


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--features", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--captures")
    parser.add_argument("--without", default="")
    parser.add_argument("--masks", nargs=2, metavar=("DIR", "MODEL"), help="captures and the network that prices masks")
    parser.add_argument("--only", default="", help="kinds with commas between: only their rows are replaced in --out")
    parser.add_argument("tables", nargs="+")
    options = parser.parse_args()
    pairs = unique_pairs(options.tables, options.features)
    rows = fit_rows(pairs, "measured", "single operators under Nsight Compute, H200")
    if options.masks:
        folder, model = options.masks
        price_masks(rows, capture_pairs(folder, "", options.features, model), f"; masks: {model}, H200")
    if options.captures:
        networks = fit_rows(capture_pairs(options.captures, options.without, options.features), "fitted",
                            "networks under Nsight Compute, H200")
        rows += missing(networks, rows)
    rows += assumed(rows)
    if options.only:
        rows = [new_row(row, rows, options.only.split(",")) for row in kinds_of(options.out)]
        replace_kinds(options.out, rows)
    else:
        write(options.out, rows)
    print(f"{len(pairs)} kernels, {len(rows)} rows")


if __name__ == "__main__":
    main()
