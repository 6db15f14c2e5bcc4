#!/usr/bin/env python3
"""What a node of a CUDA graph takes with the profiler and without, by what its kernel does.

Each case is an operation on inputs that stay where they are, captured 100 and 200 times in a row into a graph. Without the
profiler a node takes what the longer graph's replay takes more, divided by the nodes it has more; under the profiler the
trace gives each node's duration and the time to the next.  Prints CSV: case, kernels a time, their names, microseconds a
time without the profiler, durations and gaps under it.  Usage: graph_nodes.py OUT.csv
"""
import csv
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

SHORT, LONG = 100, 200


def tensor(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def pointwise_cases():
    for power in (0, 10, 14, 16, 18, 20, 21, 22, 23, 24, 26):
        x, y = tensor(1 << power), tensor(1 << power)
        half = torch.empty(1 << power, device="cuda", dtype=torch.float16)
        yield f"add_2^{power}", lambda x=x: x.add_(1.0)
        yield f"mul_out_2^{power}", lambda x=x, y=y: torch.mul(x, 0.5, out=y)
        yield f"cast_2^{power}", lambda x=x, h=half: h.copy_(x)
        yield f"copy_2^{power}", lambda x=x, y=y: y.copy_(x)
        yield f"zero_2^{power}", lambda y=y: y.zero_()


def row_cases():
    for rows in (256, 1576, 8192, 65536):
        for dtype in (torch.float32, torch.bfloat16):
            x, w = tensor(rows, 768, dtype=dtype), tensor(768, dtype=dtype)
            tag = f"{rows}x768_{str(dtype)[6:]}"
            yield f"layer_norm_{tag}", lambda x=x, w=w: F.layer_norm(x, (768,), w, w)
            yield f"softmax_{tag}", lambda x=x: torch.softmax(x, -1)
            yield f"sum_rows_{tag}", lambda x=x: x.sum(0)
            yield f"gelu_{tag}", lambda x=x: F.gelu(x)


def product_cases():
    for dtype in (torch.bfloat16, torch.float32):
        for m, n, k in ((256, 256, 256), (512, 512, 512), (1576, 768, 768), (1576, 3072, 768), (1576, 768, 3072), (2048, 2048, 2048),
                        (3152, 3072, 768), (8192, 1024, 4096), (4096, 4096, 4096)):
            x, w, b = tensor(m, k, dtype=dtype), tensor(n, k, dtype=dtype), tensor(n, dtype=dtype)
            yield f"linear_{m}x{n}x{k}_{str(dtype)[6:]}", lambda x=x, w=w, b=b: F.linear(x, w, b)
    q = tensor(8, 12, 197, 64, dtype=torch.bfloat16)
    yield "attention_8x12x197x64", lambda: F.scaled_dot_product_attention(q, q, q)


def convolution_cases():
    for dtype in (torch.float32, torch.float16):
        for batch, cin, cout, size, window in ((8, 64, 64, 56, 3), (32, 64, 64, 56, 3), (32, 64, 256, 56, 1), (32, 256, 256, 14, 3),
                                               (64, 512, 512, 7, 3), (32, 3, 64, 224, 7)):
            x, w = tensor(batch, cin, size, size, dtype=dtype), tensor(cout, cin, window, window, dtype=dtype)
            tag = f"{batch}x{cin}x{cout}x{size}x{window}_{str(dtype)[6:]}"
            yield f"conv_{tag}", lambda x=x, w=w, p=window // 2: F.conv2d(x, w, padding=p)
        for batch in (8, 32):
            x = tensor(batch, 64, 112, 112, dtype=dtype)
            m, v, g = tensor(64), tensor(64).abs(), tensor(64)
            tag = f"{batch}_{str(dtype)[6:]}"
            yield f"batch_norm_{tag}", lambda x=x, m=m, v=v, g=g: F.batch_norm(x, m, v, g, g)
            yield f"relu_{tag}", lambda x=x: F.relu_(x)
            yield f"max_pool_{tag}", lambda x=x: F.max_pool2d(x, 3, 2, 1)


def mixed_cases():
    x, w, b = tensor(1576, 768), tensor(3072, 768), tensor(3072, dtype=torch.float16)
    n = tensor(768)
    half = torch.empty(1576, 768, device="cuda", dtype=torch.float16)
    w16 = w.half()

    def cast_linear():
        half.copy_(x)
        return F.linear(half, w16, b)

    def norm_linear_gelu():
        y = F.layer_norm(x, (768,), n, n)
        half.copy_(y)
        return F.gelu(F.linear(half, w16, b))

    def linear_gelu():
        return F.gelu(F.linear(half, w16, b))
    yield "cast+linear", cast_linear
    yield "norm+cast+linear+gelu", norm_linear_gelu
    yield "linear+gelu", linear_gelu
    small, large = tensor(64), tensor(1 << 22)

    def small_large():
        small.add_(1.0)
        large.add_(1.0)

    def zero_large():
        small.zero_()
        large.add_(1.0)
    yield "small+large", small_large
    yield "zero+large", zero_large


def captured(operation, times):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            operation()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            kept = operation()
            del kept
    return graph


def replay_us(graph, longest=0.08):
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    start = time.perf_counter()
    graph.replay()
    torch.cuda.synchronize()
    replays = max(3, min(60, int(longest / (time.perf_counter() - start))))
    windows = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(replays):
            graph.replay()
        torch.cuda.synchronize()
        windows.append((time.perf_counter() - start) / replays)
    return statistics.median(windows) * 1e6


def traced(graph, times):
    """Kernels a time, their names, and means of durations and gaps to the next of one replay (microseconds)."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    launches = [e for e in events if e.get("name") == "cudaGraphLaunch"]
    last = launches[-1]["args"]["correlation"]
    nodes = sorted((e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy") and e["args"].get("correlation") == last),
                   key=lambda e: e["ts"])
    each = len(nodes) // times
    gaps = [b["ts"] - a["ts"] - a["dur"] for a, b in zip(nodes, nodes[1:])]
    names, durations, after = [], [], []
    for k in range(each):
        names.append(nodes[k]["name"][:60])
        durations.append(statistics.mean(e["dur"] for e in nodes[k::each]))
        after.append(statistics.mean(gaps[k::each]))
    grids = ["x".join(map(str, n["args"].get("grid", []))) + "/" + "x".join(map(str, n["args"].get("block", []))) for n in nodes[:each]]
    return each, names, durations, after, grids, (len(nodes) % times)


def main():
    cases = [case for group in (pointwise_cases, row_cases, product_cases, convolution_cases, mixed_cases) for case in group()]
    loops, graphs = {}, {}
    with torch.no_grad():
        for name, operation in cases:
            short, graphs[name] = captured(operation, SHORT), captured(operation, LONG)
            loops[name] = (replay_us(short), replay_us(graphs[name]))
        with open(sys.argv[1], "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["case", "kernels", "us_a_time", "short_us", "long_us", "traced_us", "gap_us", "durations_us", "gaps_us", "grids", "names"])
            for name, _ in cases:
                each, names, durations, gaps, grids, odd = traced(graphs[name], LONG)
                short, long = loops[name]
                out.writerow([name, each if not odd else f"{each}+", f"{(long - short) / (LONG - SHORT):.3f}", f"{short:.1f}", f"{long:.1f}",
                              f"{sum(durations):.3f}", f"{sum(gaps):.3f}", " ".join(f"{d:.2f}" for d in durations),
                              " ".join(f"{g:.2f}" for g in gaps), " ".join(grids), "|".join(names)])
                file.flush()


if __name__ == "__main__":
    main()
