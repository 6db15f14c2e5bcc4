#!/usr/bin/env python3
"""Compare recorded networks with traces of the same programs, operation by operation.

  compare_trace.py NETWORK.json TRACE.json.zst [--show]      one pair
  compare_trace.py --all                                     every network that has an eager FP32 capture
A row of the recording and an operation of one step of the trace are the same if they have the same name
and the same sizes of operands. An operation of the trace is the outermost one around a launch that the
recording could name, so that kernels of one operation (aten::embedding, aten::index_select, aten::gather)
count once.
"""
import argparse
import bisect
import collections
import difflib
import glob
import json
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = os.path.join(HERE, "..", "nets")
CAPTURES = os.path.join(HERE, "..", "..", "validation", "captures")
# Operations that call others which a recording names too: what they hold is what counts.
SCOPES = re.compile(
    "aten::(linear|conv[123]d|conv_transpose2d|convolution|_convolution|batch_norm|_batch_norm_impl_index|matmul|"
    "layer_norm|dropout|feature_dropout|cross_entropy_loss|nll_loss|nll_loss_nd|nll_loss2d|to|reshape|contiguous|"
    "scaled_dot_product_attention|max_pool[12]d|adaptive_avg_pool[12]d|relu6_?|flatten|einsum|lstm|gru)$|"
    "autograd::|Optimizer|ProfilerStep")
ADDS_ROWS = "aten::index_add_"  # what aten::add_ of a sparse gradient is in a recording
TYPES = {"float": "fp32", "long int": "int64", "unsigned char": "uint8", "c10::Half": "fp16", "int": "int32"}


# ---------------------------------------------------------------- recordings

def evaluate(size, values):
    """The value of a formula, e.g. 12*batch+1."""
    if isinstance(size, int):
        return size
    total = 0
    for product in size.split("+"):
        value = 1
        for factor in product.split("*"):
            value *= values[factor] if factor in values else int(factor)
        total += value
    return total


def recorded_rows(network, values):
    """(name, operands) of each row, an operand being (type, sizes, strides)."""
    tensors = []
    for kind, dims, strides, _ in network["tensors"]:
        sizes = tuple(evaluate(d, values) for d in dims)
        steps = contiguous(sizes) if strides is None else tuple(evaluate(s, values) for s in strides)
        tensors.append((kind, sizes, steps))
    return [(row["op"], tuple(tensors[arg["t"]] for arg in row["args"] if isinstance(arg, dict) and "t" in arg
                              and tensors[arg["t"]][1])) for row in network["ops"]]


def contiguous(sizes):
    return tuple(math.prod(sizes[at + 1:]) for at in range(len(sizes)))


# ---------------------------------------------------------------- traces

def read_trace(path):
    text = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    return json.loads(text)["traceEvents"]


def set_parents(operations):
    """Let each operation know the one around it on its thread."""
    threads = collections.defaultdict(list)
    for event in sorted(operations, key=lambda e: (e["ts"], -e["dur"])):
        threads[event["tid"]].append(event)
    for events in threads.values():
        stack = []
        for event in events:
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
                stack.pop()
            event["parent"] = stack[-1] if stack else None
            stack.append(event)
    return threads


def launch_operations(events):
    """The innermost operation around each launch of one step, in the order of launches."""
    steps = [e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep")]
    if not steps:
        raise SystemExit("compare_trace.py: the trace has no ProfilerStep, expected one for each step")
    step = min(steps, key=lambda e: e["ts"])
    device = {e["args"]["correlation"] for e in events
              if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy") and "correlation" in e.get("args", {})}
    operations = [e for e in events if e.get("cat") == "cpu_op"]
    threads = set_parents(operations)
    starts = {tid: [e["ts"] for e in group] for tid, group in threads.items()}
    calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")
             and e.get("args", {}).get("correlation") in device]
    for call in sorted(calls, key=lambda e: e["ts"]):
        if not step["ts"] <= call["ts"] < step["ts"] + step["dur"] or call["tid"] not in threads:
            continue
        at = bisect.bisect_right(starts[call["tid"]], call["ts"]) - 1
        event = threads[call["tid"]][at] if at >= 0 else None
        while event is not None and event["ts"] + event["dur"] < call["ts"]:
            event = event["parent"]
        if event is not None:
            yield event


def traced_operands(details):
    """Operands that are tensors with dimensions: profiles show [] for numbers and for long lists."""
    sizes = details.get("Input Dims", [])
    strides = details.get("Input Strides", sizes)
    types = details.get("Input type", [""] * len(sizes))
    return tuple((TYPES.get(kind, kind), tuple(size), tuple(stride))
                 for kind, size, stride in zip(types, sizes, strides) if size and not isinstance(size[0], list))


def saves_copy(event):
    """An operation in place that keeps what it overwrites; a recording sees the copy before it."""
    return event is not None and re.fullmatch(r"aten::\w+[a-z0-9]_", event["name"])


def traced_rows(events, names):
    """(name, operands) of each operation of one step that launches something."""
    rows, seen = [], set()
    for event in launch_operations(events):
        chosen, outer = event, event
        while outer is not None:
            if outer["name"] in names and not SCOPES.search(outer["name"]):
                chosen = outer
                if outer["name"] == ADDS_ROWS or outer["name"] == "aten::clone" and saves_copy(outer["parent"]):
                    break
            outer = outer["parent"]
        if id(chosen) not in seen:
            seen.add(id(chosen))
            rows.append((chosen["name"], traced_operands(chosen["args"])))
    return rows


# ---------------------------------------------------------------- comparison

def by_size(rows):
    return [(name, tuple(size for _, size, _ in operands)) for name, operands in rows]


def layout(row):
    """A row with the strides that matter: those of dimensions of more than one."""
    name, operands = row
    return name, tuple((kind, size, tuple(step for step, length in zip(stride, size) if length != 1))
                       for kind, size, stride in operands)


def compare(network, events, values):
    """Shares of operations that agree, as a set, in order, and in order with types and strides."""
    recorded = recorded_rows(network, values)
    traced = traced_rows(events, {name for name, _ in recorded})
    longest = max(len(recorded), len(traced))
    left, right = by_size(recorded), by_size(traced)
    blocks = difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    pairs = [(recorded[b.a + i], traced[b.b + i]) for b in blocks for i in range(b.size)]
    differ = [(ours, theirs) for ours, theirs in pairs if layout(ours) != layout(theirs)]
    counts = collections.Counter(left), collections.Counter(right)
    return {"recorded": len(recorded), "traced": len(traced),
            "matched": sum((counts[0] & counts[1]).values()) / longest, "in_order": len(pairs) / longest,
            "layout": (len(pairs) - len(differ)) / longest, "differ": differ,
            "missing": counts[1] - counts[0], "extra": counts[0] - counts[1]}


def pairs():
    """(network, trace, batch) of the committed networks that have an eager FP32 capture."""
    for path in sorted(glob.glob(os.path.join(CAPTURES, "h200_*", "traces", "*.json.zst"))):
        found = re.fullmatch(r"(.*-(?:train|infer))-(fp32|tf32)-eager-b(\d+)\.json\.zst", os.path.basename(path))
        network = found and os.path.join(NETWORKS, found[1] + ".json")
        if network and os.path.exists(network):
            yield network, path, int(found[3])


def values_of(network, batch):
    values = {s["name"]: s["default"] for s in network["symbols"]}
    return dict(values, batch=batch)


HEADER = ("| network | captures | rows | operations of the trace | same, % | same in order, % | "
          "with types and strides, % |\n"
          "|---|---|--:|--:|--:|--:|--:|")


def print_row(name, captures, found):
    shares = " | ".join(f"{100 * found[key]:.1f}" for key in ("matched", "in_order", "layout"))
    print(f"| {name} | {captures} | {found['recorded']} | {found['traced']} | {shares} |", flush=True)


def print_differences(found):
    for title, rows in (("only in the trace", found["missing"]), ("only in the recording", found["extra"])):
        for (name, sizes), count in sorted(rows.items(), key=lambda item: -item[1]):
            print(f"    {title}: {count} x {name} {list(map(list, sizes))}")
    for (ours, theirs), count in collections.Counter(found["differ"]).items():
        print(f"    layout: {count} x {ours[0]}: recorded {ours[1]}, traced {theirs[1]}")


def report(network_path, traces, show):
    """One line for a network: the worst of its captures."""
    with open(network_path) as file:
        network = json.load(file)
    found, batches = [], set()
    for path, batch in traces:
        found.append(compare(network, read_trace(path), values_of(network, batch)))
        batches.add(batch)
        if show:
            print(os.path.basename(path))
            print_differences(found[-1])
    worst = min(found, key=lambda f: (f["matched"], f["in_order"], f["layout"]))
    captures = f"{len(found)} at batch {', '.join(map(str, sorted(batches)))}"
    print_row(f"{network['name']}-{network['task']}", captures, worst)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="?")
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--show", action="store_true", help="list what differs")
    arguments = parser.parse_args()
    if arguments.all:
        traces = collections.defaultdict(list)
        for network, trace, batch in pairs():
            traces[network].append((trace, batch))
    elif arguments.trace:
        batch = re.search(r"-b(\d+)", os.path.basename(arguments.trace))
        if not batch:
            parser.error(f"{arguments.trace}: no batch in the name, expected -bNUMBER")
        traces = {arguments.network: [(arguments.trace, int(batch[1]))]}
    else:
        parser.error("a network and a trace, or --all")
    for path in [*traces, *(trace for group in traces.values() for trace, _ in group)]:
        if not os.path.exists(path):
            parser.error(f"{path}: no such file")
    print(HEADER)
    for network in sorted(traces):
        report(network, traces[network], arguments.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
