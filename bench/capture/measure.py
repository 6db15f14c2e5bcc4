"""Time, memory and power of a step, measured without the profiler."""
import os
import statistics
import time

from iterations import build_step, loops_of, synchronize

WINDOWS = 7
MEASURE_SECONDS = 0.5     # length of the unprofiled measurement: sets the number of iterations
WARM_SECONDS = 0.5
POWER_SECONDS = 1.2       # power window without --energy
ENERGY_SECONDS = 5.0      # and with it


def name_of(spec):
    name = f"{spec.model}-{spec.task}-{spec.precision}-{spec.mode}-b{spec.batch}"
    return name + ("-cl" if spec.channels_last else "") + ("-item" if spec.item else "") + "".join(
        "-" + part for part in loops_of(spec))


def window(step, count):
    """Seconds an iteration over `count` iterations and the synchronisation that ends them."""
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    synchronize()
    return (time.perf_counter() - start) / count


def warm_up(step):
    """Run until clocks and caches have settled; the rough time of an iteration."""
    for _ in range(5):
        window(step, 1)
    rough = window(step, 3)
    window(step, max(3, int(WARM_SECONDS / rough)))
    return window(step, 5)


def measure_times(step):
    rough = warm_up(step)
    iterations = max(5, min(2000, int(MEASURE_SECONDS / rough)))
    size = max(1, iterations // 5)
    windows = [window(step, size) for _ in range(WINDOWS)]
    synced = [window(step, 1) for _ in range(9)]
    return {"iter_s": statistics.median(windows), "iter_windows_s": windows,
            "iter_synced_s": statistics.median(synced), "iters": iterations, "window_iters": size}


def peak_memory(spec, device):
    """Bytes at the most, over eight runs of an iteration behind a first one, in which a compiler tries its kernels out
    beside a buffer of its own."""
    import torch
    step, _ = build_step(spec, device)
    step()
    synchronize()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(8):
        step()
    synchronize()
    return torch.cuda.max_memory_allocated() if device == "cuda" else 0


class Pace:
    """Keeps the host at most one chunk of work ahead of the GPU without draining its queue."""

    def __init__(self):
        self.previous = None

    def mark(self):
        import torch
        if not torch.cuda.is_available():
            return
        event = torch.cuda.Event()
        event.record()
        if self.previous is not None:
            self.previous.synchronize()
        self.previous = event


def power_run(step, iteration, seconds, board):
    """Keep the GPU busy for `seconds`; the energy counter's edges and the power readings."""
    chunk = max(1, int(0.02 / iteration))
    pace = Pace()
    synchronize()
    start = last_power = time.perf_counter()
    count, edges, power, clocks = 0, [], [], []
    now = start
    while now - start < seconds:
        for _ in range(chunk):
            step()
        count += chunk
        pace.mark()
        now = time.perf_counter()
        joule = board.energy_j()
        if joule is not None and (not edges or joule != edges[-1][1]):
            edges.append((now - start, joule))
        if now - last_power > 0.25:
            power.append(board.power_w())
            clocks.append(board.sm_clock_mhz())
            last_power = now
    power.append(board.power_w())
    clocks.append(board.sm_clock_mhz())
    synchronize()
    return count, time.perf_counter() - start, edges, power, clocks


def measure_power(step, iteration, seconds, board):
    """Board energy from the slope between the first and last edge of the counter after 20 % of the window."""
    count, elapsed, edges, power, clocks = power_run(step, iteration, seconds, board)
    edges = [edge for edge in edges if edge[0] > 0.2 * seconds]
    energy = None
    if len(edges) >= 2:
        (first, before), (last, after) = edges[0], edges[-1]
        energy = (after - before) / (last - first) * elapsed / count
    half = [p for p in power[len(power) // 2:] if p is not None]
    return {"energy_j_per_iter": energy, "energy_window_s": elapsed, "energy_iters": count,
            "energy_edges": len(edges), "power_w": power[-1],
            "power_mean_w": statistics.mean(half) if half else None, "sm_clock_mhz": clocks[-1]}


def describe(spec, device, board):
    import torch
    cuda = device == "cuda"
    return {"name": name_of(spec), "model": spec.model, "task": spec.task, "prec": spec.precision,
            "mode": spec.mode, "batch": spec.batch, "cl": spec.channels_last, "item": spec.item, "loop": list(loops_of(spec)),
            "gpu": torch.cuda.get_device_name(0) if cuda else "none", "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "driver": board.driver()}


def measure(spec, device, board):
    """Everything that is measured without the profiler."""
    import torch
    meta = describe(spec, device, board)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    step, notes = build_step(spec, device)
    meta.update(notes)
    idle = board.power_w()
    meta.update(measure_times(step))
    if device == "cuda":
        meta["peak_alloc"] = torch.cuda.max_memory_allocated()
        meta["peak_reserved"] = torch.cuda.max_memory_reserved()
    seconds = ENERGY_SECONDS if spec.energy else POWER_SECONDS
    meta.update(measure_power(step, meta["iter_s"], seconds, board))
    meta["idle_before_w"] = idle
    meta["launch_blocking"] = os.environ.get("CUDA_LAUNCH_BLOCKING", "0")
    return meta
