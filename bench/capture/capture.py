#!/usr/bin/env python3
"""Record training and inference runs on this machine's GPU.

For each workload two files come out:
  NAME.meta.json  iteration time, memory and power, measured without the profiler
  NAME.json.gz    PyTorch profiler trace of two steady iterations (ProfilerStep#3 and #4)
with NAME = MODEL-TASK-PRECISION-MODE-bBATCH[-cl][-item].  See README.md.
"""
import argparse
import contextlib
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

MODES = ("eager", "blocking", "cudagraph", "compile", "script")
WINDOWS = 7
MEASURE_SECONDS = 0.5     # length of the unprofiled measurement: sets the number of iterations
WARM_SECONDS = 0.5
POWER_SECONDS = 1.2       # power window without --energy
ENERGY_SECONDS = 5.0      # and with it


# ---------------------------------------------------------------- command line

def workload_arguments(parser):
    parser.add_argument("--model")
    parser.add_argument("--task", choices=("train", "infer"), default="train")
    parser.add_argument("--precision", choices=("fp32", "amp", "bf16"), default="fp32")
    parser.add_argument("--mode", choices=MODES, default="eager")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--item", action="store_true", help="read the result back every iteration")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--energy", action="store_true", help=f"energy over {ENERGY_SECONDS:g} s")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    workload_arguments(parser)
    parser.add_argument("--list", help="file with the options of one workload a line ('#' starts a comment)")
    parser.add_argument("--out", default="capture", help="folder for the results")
    parser.add_argument("--time-limit", type=float, default=1e9, help="seconds; later workloads are skipped")
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


def name_of(spec):
    name = f"{spec.model}-{spec.task}-{spec.precision}-{spec.mode}-b{spec.batch}"
    return name + ("-cl" if spec.channels_last else "") + ("-item" if spec.item else "")


def options_of(spec):
    """The command line options that stand for a workload."""
    text = (f"--model {spec.model} --task {spec.task} --precision {spec.precision}"
            f" --mode {spec.mode} --batch {spec.batch}")
    for flag in ("item", "channels_last", "energy"):
        if getattr(spec, flag):
            text += " --" + flag.replace("_", "-")
    return text


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


# ---------------------------------------------------------------- iterations

def synchronize():
    import torch
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def precision_context(precision, device):
    """A function that gives the autocast context of one iteration."""
    import torch
    if precision == "fp32":
        return contextlib.nullcontext
    dtype = torch.bfloat16 if precision == "bf16" or device == "cpu" else torch.float16
    return lambda: torch.autocast(device, dtype=dtype)


def make_scaler():
    import torch
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()


def infer_step(load, autocast):
    import torch

    def step():
        with torch.no_grad(), autocast():
            return load.model(*load.inputs)
    return step


def train_step(load, optimizer, autocast, scaler):
    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = load.loss(load.model(*load.inputs))
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return loss
    return step


def graph_step(body, clear):
    """Capture body() in a CUDA graph; clear() drops the gradients before a run of it."""
    import torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            clear()
            body()
    torch.cuda.current_stream().wait_stream(side)
    clear()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = body()

    def step():
        graph.replay()
        return result
    return step


def train_graph_step(spec, load, optimizer, autocast):
    """amp: forward and backward only (the gradient scaler reads the device back); else the whole step."""
    def body():
        with autocast():
            loss = load.loss(load.model(*load.inputs))
        loss.backward()
        if spec.precision != "amp":
            optimizer.step()
        return loss
    return graph_step(body, lambda: optimizer.zero_grad(set_to_none=True))


def prepare_model(spec, load):
    import torch
    load.model.train(spec.task == "train")
    if spec.channels_last:
        load.model = load.model.to(memory_format=torch.channels_last)
        load.inputs = tuple(x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x
                            for x in load.inputs)


def make_step(spec, load, device):
    """The function that runs one iteration of the workload and returns its loss or output."""
    import torch
    prepare_model(spec, load)
    autocast = precision_context(spec.precision, device)
    optimizer = None
    if spec.task == "train":
        capturable = device == "cuda" and (spec.precision == "bf16" or spec.mode == "cudagraph")
        optimizer = load.make_optimizer(capturable)
    if spec.mode == "compile":
        load.model = torch.compile(load.model)
    if spec.mode == "script":
        with torch.no_grad() if spec.task == "infer" else contextlib.nullcontext():
            load.model = torch.jit.trace(load.model, load.inputs, check_trace=False)
    if spec.mode == "cudagraph":
        if spec.task == "infer":
            return graph_step(infer_step(load, autocast), lambda: None)
        return train_graph_step(spec, load, optimizer, autocast)
    if spec.task == "infer":
        return infer_step(load, autocast)
    scaler = make_scaler() if spec.precision == "amp" and device == "cuda" else None
    return train_step(load, optimizer, autocast, scaler)


def with_item(step):
    """The same step, which then waits for one number of its result."""
    def step_and_read():
        result = step()
        result.reshape(-1)[0].item()
        return result
    return step_and_read


def build_step(spec, device):
    import workloads
    load = workloads.build(spec.model, spec.batch, device)
    step = make_step(spec, load, device)
    return (with_item(step) if spec.item else step), load.notes


# ---------------------------------------------------------------- measurement without the profiler

def window(step, count):
    """Seconds an iteration over `count` iterations and the synchronisation that ends them."""
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    synchronize()
    return (time.perf_counter() - start) / count


def warm_up(step):
    """Run until clocks and caches have settled; the rough time of an iteration."""
    for _ in range(5):
        window(step, 1)
    rough = window(step, 3)
    window(step, max(3, int(WARM_SECONDS / rough)))
    return window(step, 5)


def measure_times(step):
    rough = warm_up(step)
    iterations = max(5, min(2000, int(MEASURE_SECONDS / rough)))
    size = max(1, iterations // 5)
    windows = [window(step, size) for _ in range(WINDOWS)]
    synced = [window(step, 1) for _ in range(9)]
    return {"iter_s": statistics.median(windows), "iter_windows_s": windows,
            "iter_synced_s": statistics.median(synced), "iters": iterations, "window_iters": size}


class Pace:
    """Keeps the host at most one chunk of work ahead of the GPU without draining its queue."""

    def __init__(self):
        self.previous = None

    def mark(self):
        import torch
        if not torch.cuda.is_available():
            return
        event = torch.cuda.Event()
        event.record()
        if self.previous is not None:
            self.previous.synchronize()
        self.previous = event


def power_run(step, iteration, seconds, board):
    """Keep the GPU busy for `seconds`; the energy counter's edges and the power readings."""
    chunk = max(1, int(0.02 / iteration))
    pace = Pace()
    synchronize()
    start = last_power = time.perf_counter()
    count, edges, power, clocks = 0, [], [], []
    now = start
    while now - start < seconds:
        for _ in range(chunk):
            step()
        count += chunk
        pace.mark()
        now = time.perf_counter()
        joule = board.energy_j()
        if joule is not None and (not edges or joule != edges[-1][1]):
            edges.append((now - start, joule))
        if now - last_power > 0.25:
            power.append(board.power_w())
            clocks.append(board.sm_clock_mhz())
            last_power = now
    power.append(board.power_w())
    clocks.append(board.sm_clock_mhz())
    synchronize()
    return count, time.perf_counter() - start, edges, power, clocks


def measure_power(step, iteration, seconds, board):
    """Board energy from the slope between the first and last edge of the counter after 20 % of the window."""
    count, elapsed, edges, power, clocks = power_run(step, iteration, seconds, board)
    edges = [edge for edge in edges if edge[0] > 0.2 * seconds]
    energy = None
    if len(edges) >= 2:
        (first, before), (last, after) = edges[0], edges[-1]
        energy = (after - before) / (last - first) * elapsed / count
    half = [p for p in power[len(power) // 2:] if p is not None]
    return {"energy_j_per_iter": energy, "energy_window_s": elapsed, "energy_iters": count,
            "energy_edges": len(edges), "power_w": power[-1],
            "power_mean_w": statistics.mean(half) if half else None, "sm_clock_mhz": clocks[-1]}


def describe(spec, device, board):
    import torch
    cuda = device == "cuda"
    return {"name": name_of(spec), "model": spec.model, "task": spec.task, "prec": spec.precision,
            "mode": spec.mode, "batch": spec.batch, "cl": spec.channels_last, "item": spec.item,
            "gpu": torch.cuda.get_device_name(0) if cuda else "none", "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "driver": board.driver()}


def measure(spec, device, board):
    """Everything that is measured without the profiler."""
    import torch
    meta = describe(spec, device, board)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    step, notes = build_step(spec, device)
    meta.update(notes)
    idle = board.power_w()
    meta.update(measure_times(step))
    if device == "cuda":
        meta["peak_alloc"] = torch.cuda.max_memory_allocated()
        meta["peak_reserved"] = torch.cuda.max_memory_reserved()
    seconds = ENERGY_SECONDS if spec.energy else POWER_SECONDS
    meta.update(measure_power(step, meta["iter_s"], seconds, board))
    meta["idle_before_w"] = idle
    meta["launch_blocking"] = os.environ.get("CUDA_LAUNCH_BLOCKING", "0")
    return meta


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
    if args.worker:
        run_worker(specs, args)
    else:
        run_children(specs, args)


if __name__ == "__main__":
    main()
