"""Kernels of recurrent layers of many widths: how many the library launches and their time, forward as in inference and as in training,
and backward. Writes CSV: python recurrent_layers.py >recurrent_layers.csv."""
import torch
from torch.profiler import ProfilerActivity, profile

HIDDEN = (16, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512)
BATCH, STEPS = (4, 32, 128, 256, 1024), (16, 96)
REPEATS = 3


def kernels_of(run, prepare=lambda: None):
    """Per call: how many kernels, their time in us, how many of persistent kernels and their time, the name of the longest."""
    for _ in range(2):
        prepare()
        run()
    torch.cuda.synchronize()
    count = total = kept = kept_us = 0
    longest = ("", 0)
    for _ in range(REPEATS):
        prepare()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            run()
            torch.cuda.synchronize()
        for event in profiled.events():
            if event.device_type != torch.autograd.DeviceType.CUDA or event.name.startswith("Mem"):
                continue
            count, total = count + 1, total + event.device_time
            if "ersist" in event.name:
                kept, kept_us = kept + 1, kept_us + event.device_time
            longest = max(longest, (event.name, event.device_time), key=lambda x: x[1])
    return count / REPEATS, total / REPEATS, kept / REPEATS, kept_us / REPEATS, longest[0]


def main():
    print("device,kind,type,hidden,batch,steps,pass,kernels,us,persistent,persistent_us,longest")
    for kind in ("LSTM", "GRU"):
        for type in (torch.float32, torch.float16):
            for hidden in HIDDEN:
                for batch in BATCH:
                    for steps in STEPS:
                        if type == torch.float16 and steps == 16 or kind == "GRU" and (steps == 16 or batch in (4, 256)):
                            continue
                        layer = getattr(torch.nn, kind)(hidden, hidden).to("cuda", type)
                        x = torch.randn(steps, batch, hidden, device="cuda", dtype=type, requires_grad=True)
                        held = {}

                        def infer():
                            with torch.no_grad():
                                layer(x)

                        def forward():
                            held["out"] = layer(x)[0]

                        def backward():
                            held["out"].backward(held["gradient"], retain_graph=True)
                        held["gradient"] = torch.randn(steps, batch, hidden, device="cuda", dtype=type)
                        rows = [("infer", kernels_of(infer)), ("forward", kernels_of(forward)), ("backward", kernels_of(backward))]
                        for name, (count, us, kept, kept_us, longest) in rows:
                            print(f"{torch.cuda.get_device_name()},{kind},{str(type)[6:]},{hidden},{batch},{steps},{name},{count:g},{us:.2f},"
                                  f"{kept:g},{kept_us:.2f},\"{longest[:90]}\"", flush=True)


if __name__ == "__main__":
    main()
