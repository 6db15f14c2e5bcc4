#!/usr/bin/env python3
"""The inputs that fuzzing starts from: a folder a target, each input behind eight bytes that choose no options: the recorded attacks, the repository's configs, experiments and smallest networks, short pieces of
captures, a small ONNX file."""
import glob
import gzip
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NO_CHOICE = bytes(8)
MOST_BYTES = 200_000
MOST_EVENTS = 500  # of a piece of a capture
PIECES = {  # capture: events that begin within so many microseconds of the step
    "h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst": 1500,
    "h200_2026-11-20_fit/traces/bert_base-train-amp-eager-b16.json.zst": 1500,
    "h200_2026-11-22_compile_fit/traces/distilbert-infer-fp32-compile-b32.json.zst": 1500,
    "h200_2026-11-22_compile_fit/traces/gpt2_2l-train-bf16-cudagraph-b8.json.zst": 1500,
    "h200_2026-11-22_ranks2_fit/traces/*w2*rank0.json.zst": 2500,
    "cpu_2026-11-22_tensorflow_fit/traces/lenet5*.json.zst": 3000,
}


def content(path):
    if path.endswith(".gz"):
        with gzip.open(path) as file:
            return file.read()
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    with open(path, "rb") as file:
        return file.read()


def keep(folder, target, name, data):
    if target in ("trace", "counters"):
        keep(folder, "import", target + "_" + name, data)
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    with open(os.path.join(folder, target, name.replace("/", "_")), "wb") as file:
        file.write(NO_CHOICE + data)


def piece(document, length):
    """The first `length` microseconds of the first marked step; of the step itself its mark, shortened."""
    events = document["traceEvents"]
    marks = [e for e in events if str(e.get("name", "")).startswith("ProfilerStep#") or
             "step_num" in (e.get("args") or {})]
    begin = float(min(marks, key=lambda e: float(e["ts"]))["ts"]) if marks else 0
    end = begin + length
    launched = {e["args"]["correlation"] for e in events if "correlation" in (e.get("args") or {}) and
                e.get("cat") in ("cuda_runtime", "cuda_driver") and begin <= float(e["ts"]) < end}
    kept = []
    for event in events:
        arguments = event.get("args") or {}
        inside = "ts" in event and begin <= float(event["ts"]) < end
        if event.get("ph") == "M" or arguments.get("correlation") in launched or inside:
            if "dur" in event and inside:
                event["dur"] = min(float(event["dur"]), end - float(event["ts"]))
            kept.append(event)
    return {**document, "traceEvents": kept[:MOST_EVENTS]}


def traces(folder):
    for pattern, length in PIECES.items():
        found = sorted(glob.glob(os.path.join(ROOT, "validation/captures", pattern)))
        if not found:
            sys.exit("no capture " + pattern)
        data = json.dumps(piece(json.loads(content(found[0])), length), separators=(",", ":")).encode()
        keep(folder, "trace", os.path.basename(found[0]), data)


def attacks(folder):
    kinds = {"t.json": "trace", "t2.json": "trace", "c.csv": "counters", "g.json": "gpu", "h.json": "host"}
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/bad_input/attacks/*/*"))):
        name = os.path.basename(path)
        if os.path.isdir(path):
            continue
        target = kinds.get(name.removesuffix(".gz"), "experiment" if "=1+1" in name else None)
        data = content(path)
        if target and len(data) < MOST_BYTES:
            keep(folder, target, os.path.relpath(path, ROOT), data)
            if name.endswith(".gz"):
                keep(folder, target, os.path.relpath(path, ROOT) + ".stored", open(path, "rb").read())


def repository(folder):
    for target, pattern in (("gpu", "configs/gpus/*.json"), ("host", "configs/hosts/*.json"),
                            ("experiment", "configs/experiments/*.json"), ("network", "workloads/nets/*.json")):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            if os.path.getsize(path) < 20_000:
                keep(folder, target, os.path.relpath(path, ROOT), content(path))


def field(number, value):
    """A field of a protobuf message: a number, a text, or the bytes of a message."""
    def varint(rest):
        return bytes([rest]) if rest < 128 else bytes([rest & 127 | 128]) + varint(rest >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_value(name, sizes):
    dimensions = b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dimensions)))


def onnx_node(op, inputs, output):
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op)


def onnx(folder):
    """A convolution, an activation and a product, opset 17."""
    weights = {"w": [8, 3, 3, 3], "m": [288, 10]}
    graph = b"".join(field(1, onnx_node(*node)) for node in (
        ("Conv", ["x", "w"], "c"), ("Relu", ["c"], "r"), ("Flatten", ["r"], "f"), ("MatMul", ["f", "m"], "y")))
    graph += field(2, "small")
    for name, sizes in weights.items():
        count = 4
        for size in sizes:
            count *= size
        graph += field(5, b"".join(field(1, size) for size in sizes) + field(2, 1) + field(8, name) + field(9, bytes(count)))
    graph += field(11, onnx_value("x", ["batch", 3, 8, 8])) + field(12, onnx_value("y", ["batch", 10]))
    keep(folder, "onnx", "small.onnx", field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))


def write(folder):
    for part in (attacks, repository, traces, onnx):
        part(folder)
