"""Board power of single operators, and a trace of each: captures like those of capture.py, one operator instead of a model.

  python3 ops_power.py --out DIR [--groups gemm,conv] [--per-group 12] [--seconds 1.6] [--time-limit 400]

A step is as many calls as fill a millisecond. Operators shorter than --least-us are left out: there the host decides.
Writes NAME.json.gz and NAME.meta.json with NAME = OP_NUMBER-op-TYPE-eager-b1, NUMBER as in ops_cases.py.
"""
import argparse
import json
import os
import random
import statistics
import time

import torch

from board import Board
from capture import release, write_trace
from iterations import synchronize
from measure import measure_power, window
from ops_cases import GROUPS, cases_of

POWER_GROUPS = "pointwise,copy,reduce,norm,softmax,gemm,conv,depthwise,attention,optimizer,pool,embedding"
STEP_SECONDS = 1e-3


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--groups", default=POWER_GROUPS, help="names of ops_cases.py with commas between")
    parser.add_argument("--per-group", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.6, help="length of a power window")
    parser.add_argument("--least-us", type=float, default=15)
    parser.add_argument("--time-limit", type=float, default=400, help="seconds; later operators are left out")
    return parser.parse_args()


def sample(groups, per_group):
    """(number, group, case) of a random sample, the groups taking turns; numbers count over all groups."""
    numbered = [(number, group, case) for number, (group, case) in enumerate(cases_of(list(GROUPS)))]
    picks = []
    for group in groups:
        mine = [entry for entry in numbered if entry[1] == group]
        random.Random(group).shuffle(mine)
        picks.append(mine)
    turns = max(len(mine) for mine in picks)
    taken = {group: 0 for group in groups}
    for turn in range(turns):
        for mine in picks:
            if turn < len(mine) and taken[mine[turn][1]] < per_group:
                if (yield mine[turn]):
                    taken[mine[turn][1]] += 1


def seconds_of(call):
    for _ in range(5):
        call()
    return statistics.median(window(call, 20) for _ in range(3))


def step_of(call, seconds):
    count = max(1, int(STEP_SECONDS / seconds))

    def step():
        for _ in range(count):
            call()
    return step, count


def measure(number, group, case, args, board):
    call = case.make()
    seconds = seconds_of(call)
    if seconds * 1e6 < args.least_us:
        return None
    step, count = step_of(call, seconds)
    meta = {"name": f"{case.op.replace('-', '_')}_{number}-op-{case.dtype}-eager-b1", "group": group, "op": case.op,
            "dtype": case.dtype, "shapes": case.shapes, "attrs": case.attrs, "calls": count,
            "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "iter_s": window(step, 20)}
    meta.update(measure_power(step, meta["iter_s"], args.seconds, board))
    # The reading of power looks back a second; the counter's edges do not.
    energy = meta["energy_j_per_iter"]
    if energy is None:
        return None
    meta["power_mean_w"] = energy * meta["energy_iters"] / meta["energy_window_s"]
    write_trace(step, os.path.join(args.out, meta["name"] + ".json.gz"))
    with open(os.path.join(args.out, meta["name"] + ".meta.json"), "w") as file:
        json.dump(meta, file, indent=1)
    return meta


def main():
    args = parse_arguments()
    os.makedirs(args.out, exist_ok=True)
    os.environ.setdefault("TEARDOWN_CUPTI", "0")   # several profiles in one process
    board = Board()
    deadline = time.time() + args.time_limit
    entries = sample(args.groups.split(","), args.per_group)
    used = None
    done = 0
    while time.time() < deadline:
        try:
            number, group, case = entries.send(used)
        except StopIteration:
            break
        try:
            meta = measure(number, group, case, args, board)
        except Exception as error:   # an operator that this version lacks
            print(f"FAIL {case.op} {case.dtype}: {error}", flush=True)
            meta = None
        used = meta is not None
        if meta:
            done += 1
            print(f"OK {meta['name']}: {1e6 * meta['iter_s'] / meta['calls']:.1f} us, {meta['power_mean_w']:.0f} W", flush=True)
        synchronize()
        release("cuda")
    print(f"{done} operators")


if __name__ == "__main__":
    main()
