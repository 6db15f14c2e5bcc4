#!/usr/bin/env python3
"""Run single operators one after the other, so that a profiler sees which kernels each one launches.

  under Nsight Compute (see ncu_ops.sh): --ncu, only the operator itself is profiled
  alone: --trace FILE.json.gz, a PyTorch profiler trace with --repeat runs of each operator

The sidecar (--sidecar FILE, one JSON object a line) lists the operators in launch order. Each has a
number; its NVTX range and its annotation in the trace are called opNNNN:NAME.
"""
import argparse
import gc
import gzip
import json
import os
import random
import shutil
import sys
import time

import torch

import ops_base
import ops_cases


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--group", default="all", help="names with commas between: " + ", ".join(ops_cases.GROUPS))
    parser.add_argument("--sidecar", default="ops.jsonl")
    parser.add_argument("--ncu", action="store_true")
    parser.add_argument("--trace")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--markers", action="store_true",
                        help="launch an empty kernel before each operator (when NVTX ranges do not come through)")
    parser.add_argument("--time-limit", type=float, default=1e9, help="seconds; later operators are skipped")
    parser.add_argument("--device", default="cuda", help="cpu or meta: only to test this script")
    return parser.parse_args()


def selected(text):
    """(number, group, case) in launch order: shuffled, so that a run cut short covers a bit of everything.

    The numbers do not depend on the selection.
    """
    names = list(ops_cases.GROUPS)
    wanted = [name for name in names if name != "smoke"] if text == "all" else text.split(",")
    unknown = set(wanted) - set(names)
    if unknown:
        sys.exit(f"unknown groups: {sorted(unknown)}")
    every = enumerate(ops_cases.cases_of(names))
    chosen = [(number, group, case) for number, (group, case) in every if group in wanted]
    random.Random(0).shuffle(chosen)
    return chosen


def range_name(number, case):
    return f"op{number:04d}:{case.op}"


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def run_profiled(name, run, markers):
    """One run between cudaProfilerStart and Stop, inside an NVTX range."""
    synchronize()
    torch.cuda.profiler.start()
    torch.cuda.nvtx.range_push(name)
    if markers:
        torch.cuda._sleep(1)
    try:
        run()
        synchronize()
    finally:
        torch.cuda.nvtx.range_pop()
        torch.cuda.profiler.stop()


def run_traced(name, run, repeat):
    run()
    synchronize()
    with torch.profiler.record_function(name):
        for _ in range(repeat):
            run()
    synchronize()


def run_case(entry, case, args):
    """Allocate the inputs, run the operator once to warm up, then measure it."""
    run = case.make()
    run()
    synchronize()
    entry["profiled"] = True
    if args.ncu:
        run_profiled(entry["range"], run, args.markers)
    else:
        run_traced(entry["range"], run, args.repeat)
    if launches := case.launches():
        entry["launches"] = launches


def free_memory():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def describe(number, group, case, args):
    return {"id": number, "range": range_name(number, case), "group": group, "op": case.op, "dtype": case.dtype,
            "shapes": case.shapes, "attrs": case.attrs, "repeat": 1 if args.ncu else args.repeat,
            "marker": args.ncu and args.markers, "profiled": False}


def try_case(number, group, case, args):
    """The sidecar entry of one operator, with "error" if it failed."""
    entry = describe(number, group, case, args)
    try:
        run_case(entry, case, args)
    except Exception as problem:
        first = (str(problem).splitlines() or [""])[0][:200]
        entry["error"] = f"{type(problem).__name__}: {first}"
        print(f"FAIL {entry['range']} {case.dtype} {case.shapes[:3]}: {entry['error']}", flush=True)
    return entry


def usable():
    """Whether CUDA still works after a failure (some errors end every later call too)."""
    try:
        synchronize()
        return True
    except Exception as problem:
        print(f"CUDA no longer works, stopping: {problem}", flush=True)
        return False


def run_all(cases, args):
    start = time.time()
    counts = {"ok": 0, "failed": 0}
    with open(args.sidecar, "w") as sidecar:
        for number, group, case in cases:
            if time.time() - start > args.time_limit:
                break
            entry = try_case(number, group, case, args)
            counts["failed" if "error" in entry else "ok"] += 1
            sidecar.write(json.dumps(entry) + "\n")
            sidecar.flush()
            if "error" in entry and not usable():
                break
            free_memory()
    left = len(cases) - sum(counts.values())
    print(f"operators: {counts}, {left} not run, {time.time() - start:.0f} s", flush=True)


def trace_all(cases, args):
    from torch.profiler import ProfilerActivity, profile
    kinds = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        kinds.append(ProfilerActivity.CUDA)
    with profile(activities=kinds, record_shapes=True) as profiler:
        run_all(cases, args)
    plain = args.trace[:-len(".gz")] if args.trace.endswith(".gz") else args.trace
    profiler.export_chrome_trace(plain)
    if plain != args.trace:
        with open(plain, "rb") as source, gzip.open(args.trace, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target)
        os.remove(plain)


def single_threaded_backward():
    """Run backward passes in this thread: NVTX ranges belong to a thread."""
    switch = getattr(torch.autograd.grad_mode, "set_multithreading_enabled", None)
    if switch is not None:
        switch(False)


def main():
    args = parse_arguments()
    ops_base.DEVICE = args.device
    torch.manual_seed(0)
    single_threaded_backward()
    cases = selected(args.group)
    gc.freeze()   # keeps the collections between operators short
    print(f"{len(cases)} operators", flush=True)
    if args.trace:
        trace_all(cases, args)
    else:
        run_all(cases, args)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
