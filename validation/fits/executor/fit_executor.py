#!/usr/bin/env python3
"""Constants of configs/hosts/executor/tensorflow.json from the fit captures of TensorFlow's runtime.

    python3 validation/fits/executor/fit_executor.py > configs/hosts/executor/tensorflow.json

Reads validation/captures/cpu_2026-11-22_tensorflow_fit and, for the pauses of the program, the Keras 2
steps of cpu_2026-11-22_tensorflow_holdout. Needs the zstd program.
"""
import collections
import json
import pathlib
import statistics
import subprocess

FOLDER = pathlib.Path(__file__).parents[2] / "captures" / "cpu_2026-11-22_tensorflow_fit"
HOLDOUT = FOLDER.with_name("cpu_2026-11-22_tensorflow_holdout")
KERAS2 = "Keras 2 on TensorFlow 2.21 (validation/captures/cpu_2026-11-22_tensorflow_holdout, *-keras2*): "
SOURCE = "TensorFlow 2.21 eager on a CPU (validation/captures/cpu_2026-11-22_tensorflow_fit): "
DONE_US = 6  # a node that ends this soon after its enqueue may be done before the program could wait
LAYER_US = 70  # longer pauses of the program lie between layers: there the histogram has its valley
# Keras 2's legacy SGD with momentum, 161 variables of four elements on the host of the captures (a step of
# apply_gradients over its variables, the fastest of 30); the bare ResourceApplyKerasMomentum takes 11.9 us of it.
UPDATE_US, BARE_UPDATE_US = 135.6, 11.9
UPDATE = ("Keras 2 on TensorFlow 2.21: apply_gradients of legacy SGD with momentum, 135.6 us a variable, less the "
          "operation itself and the Identity of the gradient")
SEEN, SHARE = 24, 0.03  # how often a pair of operations must be seen, and read, to have a row


def steps_of(path):
    """Per step: its event, pairs (operation, node) in order, waits."""
    text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
    events = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"]
    events.sort(key=lambda e: e["ts"])
    named = lambda test: [e for e in events if test(e["name"])]
    pairs = list(zip(named(lambda n: n.startswith("EagerLocalExecute")), named(lambda n: n == "EagerKernelExecute")))
    waits = named(lambda n: n.endswith("WaitReady"))
    for step in named(lambda n: n == "step"):
        inside = lambda e: step["ts"] <= e["ts"] < step["ts"] + step["dur"]
        yield step, [p for p in pairs if inside(p[0])], [w for w in waits if inside(w)]


def end(event):
    return event["ts"] + event["dur"]


def of_asynchronous(captures):
    wakes, pops, returns, enqueues = [], [], [], []
    pairs = collections.defaultdict(lambda: [0, 0])  # (operation, next one): waited, went on
    for path in captures:
        for _, nodes, waits in steps_of(path):
            free = None
            for i, (op, node) in enumerate(nodes):
                enqueues.append(op["dur"])
                if free is not None:
                    (wakes if end(op) > free else pops).append(node["ts"] - max(free, end(op)))
                free = end(node)
                if i + 1 == len(nodes):
                    continue
                after = nodes[i + 1][0]
                while waits and waits[0]["ts"] < end(op):
                    waits.pop(0)
                waited = waits and waits[0]["ts"] < after["ts"] and end(waits[0]) >= end(node) - 1
                if waited:
                    returns.append(end(waits[0]) - end(node))
                elif end(node) <= end(op) + DONE_US:
                    continue
                pairs[op["name"][19:], after["name"][19:]][0 if waited else 1] += 1
    return wakes, pops, returns, enqueues, pairs


def of_program(captures):
    """Host time before the first operation, and pauses within and between layers."""
    begins, gaps = [], []
    for path in captures:
        for step, nodes, _ in steps_of(path):
            begins.append(nodes[0][0]["ts"] - step["ts"])
            gaps += [after["ts"] - end(op) for (op, _), (after, _) in zip(nodes, nodes[1:])]
    return begins, [gap for gap in gaps if gap < LAYER_US], [gap for gap in gaps if gap >= LAYER_US]


def of_synchronous(captures):
    enqueues, nodes_us, reads_us = [], [], []
    for path in captures:
        for _, nodes, _ in steps_of(path):
            enqueues += [op["dur"] - node["dur"] for op, node in nodes]
            nodes_us += [node["dur"] for _, node in nodes]
            reads_us += [node["dur"] for op, node in nodes if op["name"].endswith(": ReadVariableOp")]
    return enqueues, nodes_us, reads_us


def profiled_over_plain(path):
    meta = path.with_name(path.name.replace(".json.zst", ".meta.json"))
    traced = statistics.median(step["dur"] for step, _, _ in steps_of(path))
    return traced * 1e-6 / json.loads(meta.read_text())["iter_s"]


def optimizer_gap(gap_us, enqueue_us):
    return round(UPDATE_US - BARE_UPDATE_US - (gap_us + enqueue_us))


def read_back(pairs):
    """Per operation and the one enqueued next: how often the program waited for the first between them."""
    rows = collections.defaultdict(dict)
    for (op, after), (waited, passed) in sorted(pairs.items()):
        share = waited / (waited + passed)
        if waited + passed >= SEEN and share >= SHARE:
            rows[op][after] = round(share, 2)
    return rows


def main():
    wakes, pops, returns, enqueues, pairs = of_asynchronous(sorted(FOLDER.glob("traces/*_async.json.zst")))
    inline, nodes_us, reads_us = of_synchronous(sorted(FOLDER.glob("traces/*_sync.json.zst")))
    ratios = [profiled_over_plain(path) for path in sorted(FOLDER.glob("traces/*.json.zst"))]
    value = lambda v, unit, what, source=SOURCE, kind="measured": {
        "value": round(v, 2), "unit": unit, "source": source + what, "kind": kind}
    begins, inside, between = of_program(sorted(HOLDOUT.glob("traces/*keras2*_sync.json.zst")))
    median = statistics.median
    print(json.dumps({"name": "tensorflow", "constants": {
        "wake_us": value(median(wakes), "us", f"median of {len(wakes)} nodes"),
        "pop_us": value(median(pops), "us", f"median of {len(pops)} nodes"),
        "value_return_us": value(median(returns), "us", f"median of {len(returns)} waits"),
        "push_us": value(median(enqueues) - median(inline), "us", "median enqueue, asynchronous less synchronous"),
        "dequeue_us": value(statistics.quantiles(nodes_us, n=10)[0], "us", "tenth of the nodes that is shortest: views, constants"),
        "profiled_gap": value(median(ratios), "ratio", f"median of {len(ratios)} captures: median step traced over median step without the profiler"),
        "step_begin_us": value(median(begins), "us", f"median of {len(begins)} steps", KERAS2),
        "op_gap_us": value(median(inside), "us", f"median of {len(inside)} pauses under {LAYER_US} us", KERAS2),
        "layer_gap_us": value(median(between), "us", f"median of {len(between)} pauses from {LAYER_US} us", KERAS2),
        "update_gap_us": value(optimizer_gap(median(inside), median(enqueues)), "us", UPDATE, "", "measured"),
        "enqueue_us": value(median(enqueues), "us", "median enqueue, asynchronous"),
        "launch_us": value(10, "us", "no GPU was recorded: allocation of outputs, choice of the kernel", "unverified: ", "spec"),
        "cpu_kernel_us": value(median(reads_us) - statistics.quantiles(nodes_us, n=10)[0], "us", f"median of {len(reads_us)} nodes that read a variable, less dequeue_us"),
        "copy_gb_per_s": value(8, "GB/s", "pageable copies over PCIe 3.0 x16; public traces of V100s have 4.4 (TensorFlow 2.3, 13 "
                               "to 101 MB) and 9.9 GB/s (PyTorch, 19 MB)", "unverified: ", "spec")},
        "read_back": {"value": read_back(pairs), "source": SOURCE + "share of the pairs of operations, the first not done yet, between which the program waited for it", "kind": "measured"}}, indent=2))


main()
