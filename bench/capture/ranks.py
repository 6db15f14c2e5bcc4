#!/usr/bin/env python3
"""Record data-parallel training on the GPUs of this machine, one process a GPU.

    python3 ranks.py --list ranks_dev.txt --out out        # workloads
    python3 ranks.py --sweep --out out                     # collectives by themselves

For each workload and world size (all GPUs, and rank 0 alone), NAME = MODEL-train-PRECISION-MODE-bBATCH[-fsdp]-wWORLD.rankR:
  NAME.meta.json  iteration time without the profiler, parameters
  NAME.json.gz    PyTorch profiler trace of two steady iterations
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
import workloads                                    # noqa: E402
from capture import write_trace                     # noqa: E402
from iterations import make_step, synchronize       # noqa: E402

BUCKET_MB = 25
REPEATS = 20


def workload_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--precision", default="amp")
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--fsdp", action="store_true", help="shard parameters (fully_shard) instead of DDP")
    parser.set_defaults(task="train", channels_last=False)
    return parser


def read_list(path):
    with open(path) as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [workload_parser().parse_args(shlex.split(line)) for line in lines if line]


def shard(model):
    """Each block of a list of layers by itself, then what is left."""
    from torch.distributed.fsdp import fully_shard
    for module in list(model.modules()):
        if isinstance(module, torch.nn.ModuleList):
            for block in module:
                fully_shard(block)
    return fully_shard(model)


def build(spec, world):
    load = workloads.build(spec.model, spec.batch, "cuda")
    parameters = sum(p.numel() for p in load.model.parameters())
    if world > 1:
        if spec.fsdp:
            load.model = shard(load.model)
        else:
            load.model = torch.nn.parallel.DistributedDataParallel(
                load.model, device_ids=[torch.cuda.current_device()], bucket_cap_mb=BUCKET_MB)
    return make_step(spec, load, "cuda"), parameters


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
    kind = "-fsdp" if spec.fsdp else ""
    return f"{spec.model}-train-{spec.precision}-{spec.mode}-b{spec.batch}{kind}-w{world}.rank{rank}"


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
            "bucket_cap_mb": None if spec.fsdp else BUCKET_MB, "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    meta.update(fixed_times(step))
    meta["peak_alloc"] = torch.cuda.max_memory_allocated()
    with open(os.path.join(out, name + ".meta.json"), "w") as file:
        json.dump(meta, file, indent=1)
    print(f"OK {name}: {meta['iter_s'] * 1e3:.3f} ms", flush=True)


def record_all(specs, rank, world, out, hosts):
    """First all measurements without the profiler, then the traces; rank 0 also runs each workload alone."""
    for traced in (False, True):
        for spec in specs:
            for size in (1, world):
                if rank < size and not (size == 1 and spec.fsdp):
                    record(spec, size, rank, out, traced)
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
    if args.list:
        record_all(read_list(args.list), rank, world, args.out, hosts)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", help="file with the options of one workload a line")
    parser.add_argument("--sweep", action="store_true", help="collectives by themselves")
    parser.add_argument("--out", default="capture")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    world = torch.cuda.device_count()
    mp.spawn(worker, args=(world, args), nprocs=world)


if __name__ == "__main__":
    main()
