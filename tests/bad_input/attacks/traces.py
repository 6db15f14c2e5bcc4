"""Small hand-made Kineto traces, one event at a time; times in microseconds."""
import json


class Trace:
    def __init__(self, device=True):
        self.events = []
        self.correlation = 100
        self.devices = [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9,
                         "computeMinor": 0, "numSms": 132}] if device else []

    def add(self, category, name, pid, tid, ts, dur, args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts,
                            "dur": dur, "args": args})

    def step(self, number, ts, dur):
        self.add("user_annotation", "ProfilerStep#%d" % number, 1, 1, ts, dur, {})

    def op(self, name, ts, dur, **args):
        self.add("cpu_op", name, 1, 1, ts, dur, args)

    def call(self, name, ts, dur, tid=1, correlation=0):
        self.add("cuda_runtime", name, 1, tid, ts, dur, {"correlation": correlation})

    def launch(self, name, ts, dur, begin, length, tid=1, stream=7, api="cudaLaunchKernel",
               category="kernel", **args):
        """A call and the device work that it starts."""
        self.correlation += 1
        self.call(api, ts, dur, tid, self.correlation)
        self.add(category, name, 0, stream, begin, length,
                 {"device": 0, "context": 1, "stream": stream, "correlation": self.correlation,
                  "grid": [1, 1, 1], "block": [128, 1, 1], "registers per thread": 32, "shared memory": 0,
                  **args})

    def text(self):
        return json.dumps({"schemaVersion": 1, "deviceProperties": self.devices,
                           "traceEvents": self.events})

    def save(self, path):
        with open(path, "w") as file:
            file.write(self.text())


def linear(kernels=5, device=True, name="gemm_k"):
    """One step with one linear layer that launches `kernels` kernels of 10 us."""
    trace = Trace(device)
    trace.step(1, 0, 1000)
    trace.op("aten::linear", 5, 50, **{"Input Dims": [[16, 64], [32, 64], [32]],
                                       "Input type": ["float"] * 3, "Concrete Inputs": ["", "", ""]})
    for i in range(kernels):
        trace.launch(name, 10 + 20 * i, 5, 20 + 20 * i, 10)
    return trace
