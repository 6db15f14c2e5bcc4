"""What the fits of kernel times read off PyTorch traces: operations and the kernels that they launched. Needs the program zstd."""
import bisect
import collections
import json
import statistics
import subprocess


def launched(path, wanted):
    """(event of an operation whose name `wanted` accepts, events of its kernels in launch order) of a trace in zstd."""
    events = json.loads(subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout)["traceEvents"]
    kernels = collections.defaultdict(list)
    for e in events:
        if e.get("cat") == "kernel":
            kernels[e["args"].get("correlation")].append(e)
    launches = collections.defaultdict(list)
    for e in events:
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and e.get("args", {}).get("correlation") in kernels:
            launches[e["tid"]].append((e["ts"], e["args"]["correlation"]))
    for calls in launches.values():
        calls.sort()
    for op in events:
        if op.get("cat") != "cpu_op" or not wanted(op.get("name", "")):
            continue
        calls = launches[op["tid"]]
        first = bisect.bisect_left(calls, (op["ts"], 0))
        last = bisect.bisect_right(calls, (op["ts"] + op["dur"], float("inf")))
        yield op, [kernel for _, correlation in calls[first:last] for kernel in kernels[correlation]]


def medians(measured):
    """One for all named tuples that differ in `us` alone: with the median of theirs."""
    alike = collections.defaultdict(list)
    for one in measured:
        alike[one._replace(us=0)].append(one.us)
    return [one._replace(us=statistics.median(us)) for one, us in alike.items()]
