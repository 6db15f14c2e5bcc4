"""Kernels of a call and their times: names in order, microseconds as the median of several calls. Alone on the GPU."""
import torch
from torch.profiler import ProfilerActivity, profile

CALLS = 5
RANGES = ("##", "Torch-Compiled", "CompiledFunction")  # the profiler draws on the GPU, too


def profiled(call, calls=CALLS, warm=3):
    """Events of the GPU of each call, in order. An error where calls launch different kernels."""
    for _ in range(warm):
        call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU], record_shapes=True) as seen:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    launched = sorted((e for e in seen.profiler.kineto_results.events()
                       if e.device_type() == torch.autograd.DeviceType.CUDA and not e.name().startswith(RANGES)), key=lambda e: e.start_ns())
    count = len(launched) // calls
    steps = [launched[i * count:(i + 1) * count] for i in range(calls)]
    if any([e.name() for e in step] != [e.name() for e in steps[0]] for step in steps):
        raise RuntimeError("a call launches other kernels than the first one")
    return steps


def kernels(call, calls=CALLS, warm=3):
    """[name, microseconds] of each kernel of the call."""
    steps = profiled(call, calls, warm)
    middle = len(steps) // 2
    return [[steps[0][i].name(), round(sorted(s[i].duration_ns() for s in steps)[middle] / 1e3, 2)] for i in range(len(steps[0]))]
