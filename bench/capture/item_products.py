"""Times of the product of each item of a batch with one matrix in 16 bits, an item at a time (aten::bmm of an expanded matrix, as
compiled code calls it) and of all items as one matrix (aten::mm). Writes CSV: python item_products.py >item_products.csv."""
import torch
from torch.profiler import ProfilerActivity, profile

MATRICES = [(768, 2304), (384, 1152), (1024, 4096), (512, 512), (256, 1024), (4, 4), (8, 8), (64, 64)]
ITEMS = [(49, 64), (196, 16), (197, 1), (197, 4), (197, 8), (197, 16), (197, 32), (197, 64), (197, 128), (512, 8), (512, 32),
         (1024, 16), (64, 256), (6272, 196), (2048, 49), (16, 1024)]
REPEATS = 8


def timed(run):
    """Name of the first kernel, how many there are, and their time in us, each by its median."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(REPEATS):
            run()
        torch.cuda.synchronize()
    times = {}
    for event in profiled.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and "emset" not in event.name:
            times.setdefault(event.name, []).append(event.device_time)
    kernels = sum(len(of) for of in times.values()) / REPEATS
    return next(iter(times)), kernels, sum(sorted(of)[len(of) // 2] * len(of) / REPEATS for of in times.values())


def main():
    print("device,type,items,rows,inner,columns,way,kernels,us,kernel")
    for type in (torch.float16, torch.bfloat16):
        for inner, columns in MATRICES:
            if type == torch.bfloat16 and (inner, columns) not in ((768, 2304), (4, 4)):
                continue
            for items, rows in ITEMS:
                many = inner * columns > 1e5 and items > 1100
                if many or items * rows * max(inner, columns) > 1.5e9:
                    continue
                x = torch.randn(items, rows, inner, device="cuda", dtype=type)
                matrix = torch.randn(columns, inner, device="cuda", dtype=type).t()
                result = torch.empty(items, rows, columns, device="cuda", dtype=type)
                ways = {
                    "bmm": lambda: torch.bmm(x, matrix.expand(items, inner, columns), out=result),
                    "mm": lambda: torch.mm(x.view(-1, inner), matrix, out=result.view(-1, columns)),
                }
                for way, run in ways.items():
                    name, kernels, us = timed(run)
                    print(f"{torch.cuda.get_device_name()},{str(type)[6:]},{items},{rows},{inner},{columns},{way},"
                          f"{kernels:g},{us:.2f},\"{name[:80]}\"")


if __name__ == "__main__":
    main()
