#!/usr/bin/env python3
"""Record training and inference runs on this machine's GPU.

For each workload two files come out:
  NAME.meta.json  iteration time, memory and power, measured without the profiler
  NAME.json.gz    PyTorch profiler trace of two steady iterations (ProfilerStep#3 and #4)
with NAME = MODEL-TASK-PRECISION-MODE-bBATCH[-cl][-item][-LOOP...].  See README.md.
"""
import argparse
import gc
import gzip
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from iterations import LOOPS, WHOLE, build_step, loops_of, synchronize
from measure import ENERGY_SECONDS, measure, name_of, window

MODES = ("eager", "blocking", "cudagraph", "compile", "overhead", "script")


# ---------------------------------------------------------------- command line

def workload_arguments(parser):
    parser.add_argument("--model")
    parser.add_argument("--task", choices=("train", "infer"), default="train")
    parser.add_argument("--precision", choices=("fp32", "tf32", "amp", "bf16", *WHOLE), default="fp32")
    parser.add_argument("--mode", choices=MODES, default="eager")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--item", action="store_true", help="read the result back every iteration")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--loop", action="append", choices=LOOPS, help="what the training loop does besides (may be repeated)")
    parser.add_argument("--energy", action="store_true", help=f"energy over {ENERGY_SECONDS:g} s")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    workload_arguments(parser)
    parser.add_argument("--list", help="file with the options of one workload a line ('#' starts a comment)")
    parser.add_argument("--out", default="capture", help="folder for the results")
    parser.add_argument("--time-limit", type=float, default=1e9, help="seconds; later workloads are skipped")
    parser.add_argument("--peaks", action="store_true",
                        help="only the peak of memory, each workload in a process of its own: added to the .meta.json"
                        " of an earlier run")
    parser.add_argument("--one-iteration", action="store_true",
                        help="run one iteration between cudaProfilerStart and Stop (for ncu), write nothing")
    parser.add_argument("--device", default="cuda", help="cpu: only to test these scripts")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def read_list(path):
    """The workloads of a list file, as argument namespaces."""
    parser = argparse.ArgumentParser()
    workload_arguments(parser)
    with open(path) as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [parser.parse_args(shlex.split(line)) for line in lines if line]


def options_of(spec):
    """The command line options that stand for a workload."""
    text = (f"--model {spec.model} --task {spec.task} --precision {spec.precision}"
            f" --mode {spec.mode} --batch {spec.batch}")
    for flag in ("item", "channels_last", "energy"):
        if getattr(spec, flag):
            text += " --" + flag.replace("_", "-")
    return text + "".join(" --loop " + part for part in loops_of(spec))


# ---------------------------------------------------------------- one process a mode

def run_children(specs, args):
    """Record the workloads of each mode in a process of its own.

    CUDA_LAUNCH_BLOCKING must be set before CUDA starts, and a crash in one mode spares the others.
    """
    start = time.time()
    for mode in MODES:
        chosen = [spec for spec in specs if spec.mode == mode]
        left = args.time_limit - (time.time() - start)
        if not chosen:
            continue
        if left <= 0:
            print(f"SKIP all {mode} workloads: no time left", flush=True)
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(options_of(spec) for spec in chosen) + "\n")
            file.flush()
            environment = dict(os.environ, CUDA_LAUNCH_BLOCKING="1" if mode == "blocking" else "0")
            command = [sys.executable, os.path.abspath(__file__), "--worker", "--list", file.name,
                       "--out", args.out, "--device", args.device, "--time-limit", str(left)]
            code = subprocess.call(command, env=environment)
            if code != 0:
                print(f"FAIL the {mode} process ended with {code}", flush=True)


def run_peaks(specs, args, at_once=6):
    """What earlier programs of a process left counts in its peak, so each workload gets one of its own; nothing is
    timed here, so several run at once."""
    def child(spec):
        command = [sys.executable, os.path.abspath(__file__), "--worker", "--peaks", "--out", args.out,
                   "--device", args.device, *shlex.split(options_of(spec))]
        if subprocess.call(command) != 0:
            print(f"FAIL peak {name_of(spec)}", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(child, specs))


# ---------------------------------------------------------------- trace

def activities():
    from torch.profiler import ProfilerActivity
    import torch
    if torch.cuda.is_available():
        return [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    return [ProfilerActivity.CPU]


def write_trace(step, path):
    """Record iterations 3 and 4 of five under the profiler and write PATH (gzip)."""
    from torch.profiler import profile, schedule
    plan = schedule(wait=1, warmup=2, active=2, repeat=1)
    with profile(activities=activities(), record_shapes=True, schedule=plan) as profiler:
        for _ in range(5):
            step()
            profiler.step()
    plain = path[:-len(".gz")]
    profiler.export_chrome_trace(plain)
    with open(plain, "rb") as source, gzip.open(path, "wb", compresslevel=9) as target:
        shutil.copyfileobj(source, target)
    os.remove(plain)


def profiled_time(step):
    """Seconds an iteration in a loop under the profiler."""
    from torch.profiler import profile
    with profile(activities=activities(), record_shapes=True):
        window(step, 1)
        return window(step, 3)


def record_trace(spec, device, path):
    step, _ = build_step(spec, device)
    for _ in range(8):
        step()
    synchronize()
    write_trace(step, path)
    return profiled_time(step)


# ---------------------------------------------------------------- worker

def release(device):
    """Give the memory of the last workload back."""
    import torch
    gc.collect()
    if hasattr(torch, "_dynamo") and "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def write_meta(out, meta):
    with open(os.path.join(out, meta["name"] + ".meta.json"), "w") as file:
        json.dump(meta, file, indent=1)


def failed(stage, spec):
    print(f"FAIL {stage} {name_of(spec)}", flush=True)
    traceback.print_exc(limit=-4)


def milliseconds(seconds):
    return f"{seconds * 1e3:.3f} ms"


def measure_all(specs, device, out, deadline):
    """First all measurements without the profiler: once used, the profiler slows its process down."""
    from board import Board
    board = Board()
    metas = {}
    for spec in specs:
        name = name_of(spec)
        if time.time() > deadline:
            print(f"SKIP measure {name}: no time left", flush=True)
            continue
        start = time.time()
        try:
            meta = measure(spec, device, board)
            metas[name] = meta
            write_meta(out, meta)
            energy = meta["energy_j_per_iter"]
            print(f"OK measure {name}: {milliseconds(meta['iter_s'])}, power {meta['power_w']} W,"
                  f" energy {energy} J, took {time.time() - start:.1f} s", flush=True)
        except Exception:
            failed("measure", spec)
        release(device)
    return metas


def trace_all(specs, metas, device, out, deadline):
    for spec in specs:
        name = name_of(spec)
        if name not in metas:
            continue
        if time.time() > deadline:
            print(f"SKIP trace {name}: no time left", flush=True)
            continue
        start = time.time()
        try:
            path = os.path.join(out, name + ".json.gz")
            metas[name]["iter_profiled_s"] = record_trace(spec, device, path)
            write_meta(out, metas[name])
            print(f"OK trace {name}: {os.path.getsize(path) / 1e3:.0f} kB, profiled"
                  f" {milliseconds(metas[name]['iter_profiled_s'])}, took {time.time() - start:.1f} s", flush=True)
        except Exception:
            failed("trace", spec)
        release(device)


def run_worker(specs, args):
    import torch
    start = time.time()
    os.environ.setdefault("TEARDOWN_CUPTI", "0")   # several profiles in one process
    if args.device == "cuda":
        torch.cuda.init()
    metas = measure_all(specs, args.device, args.out, start + 0.6 * args.time_limit)
    trace_all(specs, metas, args.device, args.out, start + args.time_limit)


def run_peak_worker(spec, args):
    from measure import peak_memory
    path = os.path.join(args.out, name_of(spec) + ".meta.json")
    with open(path) as file:
        meta = json.load(file)
    meta.setdefault("peak_alloc_shared_process", meta["peak_alloc"])
    meta["peak_alloc"] = peak_memory(spec, args.device)
    write_meta(args.out, meta)
    print(f"OK peak {name_of(spec)}: {meta['peak_alloc'] / 1e6:.1f} MB,"
          f" {meta['peak_alloc_shared_process'] / 1e6:.1f} MB before", flush=True)


def run_one_iteration(spec, device):
    """For Nsight Compute with --profile-from-start off."""
    import torch
    step, _ = build_step(spec, device)
    for _ in range(5):
        step()
    synchronize()
    torch.cuda.profiler.start()
    step()
    synchronize()
    torch.cuda.profiler.stop()
    print(f"OK one iteration of {name_of(spec)}", flush=True)


def main():
    args = parse_arguments()
    specs = read_list(args.list) if args.list else [args]
    if any(spec.model is None for spec in specs):
        sys.exit("give --model or --list")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    if args.one_iteration:
        run_one_iteration(specs[0], args.device)
        return
    os.makedirs(args.out, exist_ok=True)
    if args.peaks:
        run_peak_worker(specs[0], args) if args.worker else run_peaks(specs, args)
    elif args.worker:
        run_worker(specs, args)
    else:
        run_children(specs, args)


if __name__ == "__main__":
    main()
