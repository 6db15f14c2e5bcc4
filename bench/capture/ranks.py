#!/usr/bin/env python3
"""Record training divided over ranks on the GPUs of this machine, one process a GPU.

    python3 ranks.py --list ranks_dev.txt --out out        # workloads
    python3 ranks.py --sweep --out out                     # collectives by themselves

For each workload and world size (all GPUs, and rank 0 alone), NAME = MODEL-train-PRECISION-MODE-bBATCH[-STYLE]-wWORLD.rankR:
  NAME.meta.json  iteration time without the profiler, parameters
  NAME.json.gz    PyTorch profiler trace of two steady iterations
--peaks measures only peak_alloc, for lists of one workload: what earlier ones left on the GPU counts.
--sweep writes collectives.jsonl: microseconds of each collective by bytes of one rank's message.
"""
import argparse
import json
import os
import shlex
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import divided                                      # noqa: E402
import workloads                                    # noqa: E402
from capture import write_meta, write_trace         # noqa: E402
from iterations import make_step, synchronize       # noqa: E402

REPEATS = 20
ALONE = ("data", "accumulated", "tensor")   # styles whose step one rank runs too


def workload_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--precision", default="amp")
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--style", choices=tuple(divided.STYLES), default="data", help="how the ranks divide the step")
    parser.add_argument("--sync-norm", action="store_true", help="statistics of batch norms over all ranks")
    parser.add_argument("--narrow-gradients", action="store_true", help="sum gradients in BF16")
    parser.set_defaults(task="train", channels_last=False)
    return parser


def read_list(path):
    with open(path) as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [workload_parser().parse_args(shlex.split(line)) for line in lines if line]


def build(spec, world, device="cuda"):
    builder = divided.BUILDERS.get(spec.model)
    load = builder(spec.batch, device) if builder else workloads.build(spec.model, spec.batch, device)
    parameters = sum(p.numel() for p in load.model.parameters())
    return divided.STYLES[spec.style](spec, load, world, device), parameters


def fixed_times(step, count=12):
    """Every rank has to run the same number of iterations, so none of them decides on its own."""
    import statistics
    import time
    for _ in range(10):
        step()
    synchronize()
    windows = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        synchronize()
        windows.append((time.perf_counter() - begin) / count)
    return {"iter_s": statistics.median(windows), "iter_windows_s": windows}


def name_of(spec, world, rank):
    kind = "" if spec.style == "data" else "-" + spec.style
    kind += "-sync_norm" * spec.sync_norm + "-narrow_gradients" * spec.narrow_gradients
    return f"{spec.model}-train-{spec.precision}-{spec.mode}-b{spec.batch}{kind}-w{world}.rank{rank}"


def peak(spec, world, rank, out):
    """Adds peak_alloc to what was measured before, or writes it alone."""
    meta = {"name": name_of(spec, world, rank)}
    path = os.path.join(out, meta["name"] + ".meta.json")
    if os.path.exists(path):
        with open(path) as file:
            meta = json.load(file)
    step, _ = build(spec, world)
    for _ in range(5):
        step()
    synchronize()
    meta["peak_alloc"] = torch.cuda.max_memory_allocated()
    write_meta(out, meta)
    print(f"OK {path}: {meta['peak_alloc'] / 1e9:.3f} GB", flush=True)


def record(spec, world, rank, out, traced):
    name = name_of(spec, world, rank)
    step, parameters = build(spec, world)
    if traced:
        for _ in range(4):
            step()
        synchronize()
        write_trace(step, os.path.join(out, name + ".json.gz"))
        return
    torch.cuda.reset_peak_memory_stats()
    meta = {"name": name, "model": spec.model, "task": "train", "prec": spec.precision, "mode": spec.mode,
            "batch": spec.batch, "rank": rank, "world_size": world, "parameters": parameters,
            "bucket_cap_mb": divided.BUCKET_MB if spec.style in ALONE else None, "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    meta.update(fixed_times(step))
    meta["peak_alloc_shared_process"] = torch.cuda.max_memory_allocated()   # what earlier workloads left counts
    write_meta(out, meta)
    print(f"OK {name}: {meta['iter_s'] * 1e3:.3f} ms", flush=True)


def record_all(specs, rank, world, out, hosts):
    """First all measurements without the profiler, then the traces; rank 0 also runs each workload alone."""
    for traced in (False, True):
        for spec in specs:
            for size in (1, world):
                if rank < size and (size > 1 or spec.style in ALONE):
                    try:
                        record(spec, size, rank, out, traced)
                    except (RuntimeError, ValueError, TypeError, AttributeError) as failure:  # of both ranks, or the group's timeout ends all
                        print(f"FAILED {name_of(spec, size, rank)}: {failure}", flush=True)
                    torch._dynamo.reset()
                    torch.cuda.empty_cache()
                dist.barrier(group=hosts)


def collectives(world, rank, count, dtype):
    """Functions on one message of `count` elements a rank."""
    one = torch.ones(count, dtype=dtype, device="cuda")
    part, whole = one[:max(1, count // world)], torch.ones(count // world * world or world, dtype=dtype, device="cuda")
    sent = whole.clone()
    return {
        "all_reduce": lambda: dist.all_reduce(one),
        "broadcast": lambda: dist.broadcast(one, 0),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
        "all_to_all": lambda: dist.all_to_all_single(whole, sent),
    }


def timed(fn):
    for _ in range(5):
        fn()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    synchronize()
    begin.record()
    for _ in range(REPEATS):
        fn()
    end.record()
    synchronize()
    return begin.elapsed_time(end) * 1e3 / REPEATS


def sweep(rank, world, out):
    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        for power in range(10, 31, 2):
            count = 2 ** power // dtype.itemsize
            for name, fn in collectives(world, rank, count, dtype).items():
                rows.append({"collective": name, "ranks": world, "dtype": str(dtype)[6:], "bytes": 2 ** power,
                             "us": round(timed(fn), 2)})
    if rank == 0:
        with open(os.path.join(out, "collectives.jsonl"), "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        print(f"OK {len(rows)} collectives", flush=True)


def worker(rank, world, args):
    os.environ.setdefault("TEARDOWN_CUPTI", "0")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    hosts = dist.new_group(backend="gloo")
    if args.sweep:
        sweep(rank, world, args.out)
    if args.peaks:
        for spec in read_list(args.list):
            peak(spec, world, rank, args.out)
    elif args.list:
        record_all(read_list(args.list), rank, world, args.out, hosts)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", help="file with the options of one workload a line")
    parser.add_argument("--peaks", action="store_true", help="peaks of memory in place of times and traces")
    parser.add_argument("--sweep", action="store_true", help="collectives by themselves")
    parser.add_argument("--out", default="capture")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ.setdefault("MASTER_PORT", "29511")
    world = torch.cuda.device_count()
    mp.spawn(worker, args=(world, args), nprocs=world)


if __name__ == "__main__":
    main()
