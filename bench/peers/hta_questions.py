"""What HolisticTraceAnalysis answers on one trace, and what of it its critical path explains. hta_questions.py TRACE.json[.gz]: a line of JSON.

Run by compare.py in a virtual environment of its own; each question by itself, so that one that fails does not end the others.
"""

import contextlib
import io
import json
import logging
import resource
import sys
import time

logging.disable(logging.CRITICAL)
path = sys.argv[1]
out = {"answers": {}, "errors": {}}


def ask(name, question):
    began = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            answer = question()
    except Exception as error:  # a question that it cannot answer is one of the things compared
        out["errors"][name] = f"{type(error).__name__}: {error}"[:120]
        return None
    out["answers"][name] = round(time.perf_counter() - began, 3)
    return answer


began = time.perf_counter()
from hta.trace_analysis import TraceAnalysis

out["import_s"] = round(time.perf_counter() - began, 2)
analysis = ask("read the trace", lambda: TraceAnalysis(trace_files={0: path}, trace_dir="", include_last_profiler_step=True))
if analysis is not None:
    table = ask("GPU busy, idle, other", lambda: analysis.get_temporal_breakdown(visualize=False))
    ask("kernels by time", lambda: analysis.get_gpu_kernel_breakdown(visualize=False))
    ask("idle time by cause", lambda: analysis.get_idle_time_breakdown(visualize=False))
    ask("launch statistics", lambda: analysis.get_cuda_kernel_launch_stats(visualize=False))
    ask("queue length", lambda: analysis.get_queue_length_summary())
    ask("memory bandwidth", lambda: analysis.get_memory_bw_summary())
    ask("communication overlap", lambda: analysis.get_comm_comp_overlap(visualize=False))
    step = "ProfilerStep"
    found = ask("critical path", lambda: analysis.critical_path_analysis(rank=0, annotation=step, instance_id=0))
    if found is not None and found[1]:
        graph = found[0]
        path_us = sum(graph.edges[u, v]["object"].weight for u, v in zip(graph.critical_path_nodes, graph.critical_path_nodes[1:]))
        frame = analysis.t.get_trace(0)
        names = analysis.t.symbol_table.get_sym_table()
        steps = frame[frame["name"].map(lambda i: names[i].startswith(step))]
        out["critical_path_share"] = round(float(path_us) / float(steps["dur"].iloc[0]), 3)
    if table is not None:
        out["busy_share"] = round(float(1 - table["idle_time_pctg"].iloc[0] / 100), 4)
out["seconds"] = round(time.perf_counter() - began, 2)
out["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(json.dumps(out))
