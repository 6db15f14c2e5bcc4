#!/usr/bin/env python3
"""Timelines of real captures: run.py TANDEM. Every event must be one that Perfetto keeps
(perfetto_rules.py), kernels must say what they are, launches must point at them, and files must be
what their names say."""
import os
import subprocess
import sys
import tempfile

import perfetto_rules

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CAPTURES = os.path.join(ROOT, "validation", "captures")
# Kernels that overlap on a stream, several streams, CUDA graphs, an eager runtime with an executor,
# collectives, what-ifs that add and remove rows; each an ending.
CASES = [
    ("h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32", [], ".json"),
    ("h200_2026-11-20_fit/traces/bert_base-train-amp-cudagraph-b8", [], ".json.gz"),
    ("h200_2026-11-21_streams_holdout/traces/lstm-train-fp32-eager-b64", [], ".json.zst"),
    ("h200_2026-11-22_compile_holdout/traces/resnet18-train-fp32-eager-b128",
     ["--compile", "inductor", "--precision", "amp"], ".json.gz"),
    ("h200_2026-11-22_compile_holdout/traces/deit_small_patch16_224-train-bf16-eager-b64",
     ["--mode", "cuda-graph"], ".json.gz"),
    ("h200_2026-11-22_ranks2_fit/traces/resnet18-train-amp-eager-b32-w2.rank0", [], ".json.gz"),
    ("cpu_2026-11-22_tensorflow_fit/traces/lenet5_train_b32_async", [], ".json.gz"),
]
MAGIC = {".json": b"{", ".json.gz": b"\x1f\x8b", ".json.zst": b"\x28\xb5\x2f\xfd"}
KERNEL_ARGS = {"op", "layer", "grid", "bound", "achieved_occupancy", "smsp_active_utilization"}
SCENARIO_HOST, SCENARIO_GPU = 5, 6


def problems(trace):
    found, phases = perfetto_rules.check(trace)
    events = trace["traceEvents"]
    of = lambda category, pids: [e for e in events if e.get("cat") == category and e["pid"] in pids]
    for kernel in of("kernel", {2, 4, SCENARIO_GPU}):
        missing = KERNEL_ARGS - set(kernel.get("args", {}))
        if missing:
            found.append(f"kernel {kernel['name']} does not say {sorted(missing)}")
    if any("energy_mj" not in k.get("args", {}) for k in of("kernel", {SCENARIO_GPU})):
        found.append("a kernel of the scenario without energy")
    links = sorted(of("critical_path", {SCENARIO_GPU}), key=lambda e: e["ts"])
    for a, b in zip(links, links[1:]):
        if round((a["ts"] + a["dur"]) * 1000) != round(b["ts"] * 1000):
            found.append(f"the critical path has a hole at {b['ts']}")
    if not links:
        found.append("no critical path")
    return found, phases, {c: len(of(c, {SCENARIO_HOST})) for c in ("op", "range", "cuda_runtime")}


def main(program):
    failed = 0
    for capture, options, ending in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "timeline" + ending)
            trace = os.path.join(CAPTURES, capture + ".json.zst")
            subprocess.run([program, "replay", trace, "--quiet", "--timeline", path] + options,
                           check=True)
            with open(path, "rb") as file:
                start = file.read(4)
            found, phases, host = problems(perfetto_rules.read(path))
        if not start.startswith(MAGIC[ending]):
            found.append(f"{ending} begins with {start}")
        graph = "cudagraph" in capture or "cuda-graph" in options
        if "tensorflow" not in capture and (phases["s"] == 0 or (not graph and host["op"] == 0)):
            found.append(f"{phases['s']} arrows, {host} of the scenario's host")
        for text in found[:10]:
            print(f"{capture}: {text}")
        print(f"{'FAILED' if found else 'ok':6} {capture} {' '.join(options)} {dict(phases)} {host}")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
