#!/usr/bin/env python3
"""Turn what ops_sweep.py left behind into one table: a row for each kernel of each operator.

  reduce.py --sidecar ops.jsonl --ncu ops.csv --out table.csv.gz             counters
  reduce.py --sidecar ops.jsonl --trace ops.json.gz --out table.csv.gz       times without ncu
With both, the trace only adds the column trace_us (median over the repeats) to the counters.
"""
import argparse
import bisect
import csv
import gzip
import json
import re
import statistics
import sys

RANGE = re.compile(r"\bop(\d{4,}):")
MARKER = "spin_kernel"
NO_COUNTER = ("device__", "nvlink__", "numa__", "c2clink__", "profiler__", "nvswitch__", "pcie__")
LAUNCH = {  # output column: ncu column
    "regs": "launch__registers_per_thread", "smem_static": "launch__shared_mem_per_block_static",
    "smem_dynamic": "launch__shared_mem_per_block_dynamic", "smem_config": "launch__shared_mem_config_size",
    "cluster": "launch__cluster_size", "waves": "launch__waves_per_multiprocessor",
    "limit_regs": "launch__occupancy_limit_registers", "limit_smem": "launch__occupancy_limit_shared_mem",
    "limit_warps": "launch__occupancy_limit_warps", "limit_blocks": "launch__occupancy_limit_blocks",
    "limit_barriers": "launch__occupancy_limit_barriers",
}


def open_text(path, mode="r"):
    if path.endswith(".gz"):
        return gzip.open(path, mode + "t", newline="")
    return open(path, mode, newline="")


def read_sidecar(path):
    with open_text(path) as file:
        return [json.loads(line) for line in file if line.strip()]


# ---------------------------------------------------------------- Nsight Compute

def read_ncu(path):
    """The rows of a raw page as dictionaries (without the row of units)."""
    with open_text(path) as file:
        lines = [line for line in file if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    return [row for row in rows if row.get("ID", "").strip().isdigit()]


def is_marker(row):
    return MARKER in row["Kernel Name"]


def ids_by_marker(rows, sidecar):
    """The operator of each row, by counting the marker kernels."""
    launched = [entry["id"] for entry in sidecar if entry["profiled"]]
    ids, seen = [], 0
    for row in rows:
        seen += is_marker(row)
        ids.append(launched[seen - 1] if 0 < seen <= len(launched) else None)
    return ids


def ids_by_nvtx(rows):
    """The operator of each row, from the NVTX range that holds it."""
    ids = []
    for row in rows:
        text = " ".join(value or "" for key, value in row.items() if key and "_Range" in key)
        match = RANGE.search(text)
        ids.append(int(match.group(1)) if match else None)
    return ids


def operator_ids(rows, sidecar):
    return ids_by_marker(rows, sidecar) if any(map(is_marker, rows)) else ids_by_nvtx(rows)


def check_nvtx(rows, sidecar):
    """Whether NVTX ranges and markers agree."""
    by_marker, by_nvtx = ids_by_marker(rows, sidecar), ids_by_nvtx(rows)
    wrong = sum(a != b for a, b in zip(by_marker, by_nvtx))
    print(f"NVTX: {wrong} of {len(rows)} rows differ from the markers")
    return bool(rows) and wrong == 0


def number(text):
    """Without thousands separators; empty for n/a."""
    text = (text or "").replace(",", "").strip()
    try:
        float(text)
    except ValueError:
        return ""
    return text


def counters_of(row):
    """Counter columns: name.sum as name, other roll-ups under their full name."""
    found = {}
    for key, value in row.items():
        if not key or "__" not in key or key.startswith(NO_COUNTER) or key.startswith("launch__"):
            continue
        found[key[:-len(".sum")] if key.endswith(".sum") else key] = number(value)
    return found


def geometry(text):
    """'(128, 1, 1)' as '128x1x1'."""
    return "x".join(re.findall(r"\d+", text or ""))


def kernel_of(row):
    kernel = {"kernel": row["Kernel Name"], "grid": geometry(row.get("Grid Size")),
              "block": geometry(row.get("Block Size"))}
    for column, source in LAUNCH.items():
        kernel[column] = number(row.get(source))
    kernel.update(counters_of(row))
    return kernel


def kernels_from_ncu(rows, sidecar):
    """{operator: its kernels in launch order}"""
    kernels = {}
    for row, owner in zip(rows, operator_ids(rows, sidecar)):
        if owner is not None and not is_marker(row):
            kernels.setdefault(owner, []).append(kernel_of(row))
    return kernels


# ---------------------------------------------------------------- trace

def read_trace(path):
    with open_text(path) as file:
        return json.load(file)["traceEvents"]


def launches_in(events):
    """{correlation: time of the launch call}"""
    return {event["args"]["correlation"]: event["ts"] for event in events
            if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}


def ranges_in(events):
    """Sorted (start, end, operator) of the opNNNN annotations."""
    ranges = []
    for event in events:
        match = RANGE.match(event.get("name", "")) if event.get("cat") == "user_annotation" else None
        if match:
            ranges.append((event["ts"], event["ts"] + event["dur"], int(match.group(1))))
    return sorted(ranges)


def launches_by_operator(events):
    """{operator: its kernel events in launch order}"""
    launch, ranges = launches_in(events), ranges_in(events)
    starts = [start for start, _, _ in ranges]
    found = {}
    for event in events:
        if event.get("cat") != "kernel":
            continue
        time = launch.get(event["args"].get("correlation"))
        place = bisect.bisect_right(starts, time) - 1 if time is not None else -1
        if place >= 0 and time < ranges[place][1]:
            found.setdefault(ranges[place][2], []).append((time, event["ts"], event))
    return {owner: [event for _, _, event in sorted(list_, key=lambda item: item[:2])]
            for owner, list_ in found.items()}


def traced_kernel(event, durations):
    args = event["args"]
    text = {key: "x".join(map(str, args.get(key, []))) for key in ("grid", "block")}
    return {"kernel": event["name"], "grid": text["grid"], "block": text["block"],
            "regs": args.get("registers per thread", ""), "smem": args.get("shared memory", ""),
            "trace_us": f"{statistics.median(durations):.3f}", "trace_min_us": f"{min(durations):.3f}"}


def kernels_from_trace(events, sidecar):
    """{operator: its kernels}, with the median and the least time over the repeats."""
    repeats = {entry["id"]: entry["repeat"] for entry in sidecar}
    kernels = {}
    for owner, found in launches_by_operator(events).items():
        repeat = repeats.get(owner, 1)
        if len(found) % repeat:
            print(f"operator {owner}: {len(found)} kernels in {repeat} runs, left out")
            continue
        each = len(found) // repeat
        kernels[owner] = [traced_kernel(found[i], [e["dur"] for e in found[i::each]]) for i in range(each)]
    return kernels


def add_times(kernels, traced):
    """Copy trace_us to the counters' rows of the operators that have as many kernels in both."""
    for owner, rows in kernels.items():
        other = traced.get(owner, [])
        if len(other) == len(rows):
            for row, source in zip(rows, other):
                row["trace_us"] = source["trace_us"]


# ---------------------------------------------------------------- table

def shapes_text(shapes, most=8):
    text = ";".join("x".join(map(str, shape)) or "scalar" for shape in shapes[:most])
    return text + (f";+{len(shapes) - most}" if len(shapes) > most else "")


def operator_columns(entry):
    attrs = ";".join(f"{key}={value}" for key, value in sorted(entry["attrs"].items()))
    return {"id": entry["id"], "group": entry["group"], "op": entry["op"], "dtype": entry["dtype"],
            "shapes": shapes_text(entry["shapes"]), "attrs": attrs}


def add_operands(rows, launches):
    """Column `operands` of the generated kernels: dimensions, strides and type of each tensor, as JSON."""
    generated = [row for row in rows if row["kernel"].startswith("triton_")]
    if not launches:
        return
    if [row["kernel"] for row in generated] != [launch["kernel"] for launch in launches]:
        print(f"{len(launches)} launches noted of {len(generated)} generated kernels, their operands left out")
        return
    for row, launch in zip(generated, launches):
        row["operands"] = json.dumps(launch["operands"], separators=(",", ":"))


def write_table(path, kernels, sidecar):
    rows = []
    for entry in sorted(sidecar, key=lambda e: e["id"]):
        add_operands(kernels.get(entry["id"], []), entry.get("launches", []))
        for place, kernel in enumerate(kernels.get(entry["id"], [])):
            rows.append({**operator_columns(entry), "kernel_index": place, **kernel})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open_text(path, "w") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    operators = len({row["id"] for row in rows})
    print(f"OK {path}: {len(rows)} kernels of {operators} operators ({len(sidecar)} ran)")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sidecar", required=True)
    parser.add_argument("--ncu", help="raw page of Nsight Compute as CSV (may be .gz)")
    parser.add_argument("--trace", help="trace of ops_sweep.py --trace (may be .gz)")
    parser.add_argument("--trace-sidecar", help="sidecar of the trace, if it is another run (default: --sidecar)")
    parser.add_argument("--out", default="table.csv")
    parser.add_argument("--check-nvtx", action="store_true", help="only say whether NVTX ranges reach the rows")
    return parser.parse_args()


def main():
    args = parse_arguments()
    sidecar = read_sidecar(args.sidecar)
    if args.check_nvtx:
        sys.exit(0 if check_nvtx(read_ncu(args.ncu), sidecar) else 1)
    traced = {}
    if args.trace:
        traced = kernels_from_trace(read_trace(args.trace), read_sidecar(args.trace_sidecar or args.sidecar))
    kernels = kernels_from_ncu(read_ncu(args.ncu), sidecar) if args.ncu else traced
    if args.ncu:
        add_times(kernels, traced)
    write_table(args.out, kernels, sidecar)


if __name__ == "__main__":
    main()
