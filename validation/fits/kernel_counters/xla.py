#!/usr/bin/env python3
"""Rates of the kernels that XLA generates, into configs/kernels/costs.json.

  xla.py --reduce NCU.csv.gz SIDECAR.jsonl --out TABLE.csv.gz   what ncu_xla.sh recorded, reduced
  xla.py TABLE.csv.gz costs.json                                replaces the rows of XLA's kinds

A trace of XLA holds no shapes of these kernels: a row is what the kind does a cycle that an SMSP is active
(fit.py, rates). Needs numpy.
"""
import csv
import gzip
import json
import re
import sys

KINDS = (("xla_window", r"^loop_reduce_window|select_and_scatter"), ("xla_scatter", r"^input_scatter"),
         ("xla_transpose", r"transpose"), ("xla_reduction", r"^input_reduce|reduce_fusion"),
         ("xla_loop", r"^loop_|^wrapped_"))
COUNTERS = ("gpu__time_duration", "smsp__cycles_elapsed", "smsp__cycles_active", "smsp__issue_active",
            "sm__pipe_tensor_cycles_active", "l1tex__t_sectors", "lts__t_sectors", "dram__sectors_read",
            "dram__sectors_write", "l1tex__data_pipe_lsu_wavefronts_mem_shared")
TYPES = {"float32": "fp32", "bfloat16": "bf16"}


def reduce_report(report, sidecar, out):
    with gzip.open(report, "rt") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("==")))[1:]
    with open(sidecar) as file:
        functions = [json.loads(line) for line in file]
    marks = [i for i, row in enumerate(rows) if "xor" in row["Kernel Name"]]
    marks = marks[len(marks) % 2:]  # the first is the marker's own warm-up
    with gzip.open(out, "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("op", "dtype", "shape", "kernel", "grid", "block") + COUNTERS)
        for function, begin, end in zip(functions, marks[::2], marks[1::2]):
            for row in rows[begin + 1:end]:
                shape = "x".join(map(str, function["shape"]))
                writer.writerow([function["op"], TYPES[function["dtype"]], shape, row["Kernel Name"],
                                 row["Grid Size"], row["Block Size"]] +
                                [row[name + ".sum"].replace(",", "") for name in COUNTERS])


def kind_of(name):
    return next((kind for kind, pattern in KINDS if re.search(pattern, name)), None)


def measured_rows(table):
    import fit
    groups = {}
    with gzip.open(table, "rt") as file:
        for row in csv.DictReader(file):
            if kind_of(row["kernel"]) is None:
                continue
            counted = {name: float(row[name]) for name in COUNTERS}
            groups.setdefault((kind_of(row["kernel"]), row["dtype"]), []).append((None, counted))
    for (kind, dtype), rows in sorted(groups.items()):
        rates = fit.rounded(fit.rates(rows))
        yield {"kind": kind, "type": dtype, "origin": "measured",
               "source": f"{len(rows)} kernels of XLA under Nsight Compute, H200"} | rates
        if dtype == "bf16":
            yield {"kind": kind, "type": "fp16", "origin": "assumed", "source": f"as {kind} of bf16"} | rates


def main():
    if sys.argv[1:2] == ["--reduce"]:
        reduce_report(sys.argv[2], sys.argv[3], sys.argv[5])
        return
    import fit
    table, costs = sys.argv[1:]
    rows = list(measured_rows(table))
    have = {(row["kind"], row["type"]) for row in rows}
    kept = [row for row in fit.kinds_of(costs) if (row["kind"], row.get("type", "")) not in have]
    fit.replace_kinds(costs, kept + rows)
    print(f"{len(rows)} rows of XLA, {len(kept)} others kept")


if __name__ == "__main__":
    main()
