#!/usr/bin/env python3
"""configs/hosts/executor/xeon_gold_6248.json: the host of thesis chapter 3, under its profiler.

    python3 validation/fits/executor/fit_paper_host.py > configs/hosts/executor/xeon_gold_6248.json

What the thesis states (enqueue, dequeue) is taken as it is. What it does not state is tensorflow.json's, measured on another
host, times one pace. Two numbers are fitted, each on one row of validation/claims, which then count as fitted:

    PACE           T039 (and T037, the same number): at batch 1 LeNet-5 waits for 64 % of the time in which the queue holds
                   a node. Waiting there is the waking of the executor, which the pace sets.
    CPU_KERNEL_US  T003: kernels are 7 % of the step of ResNet-50 at batch 1, of all workloads the one whose nodes are most
                   often kernels of the CPU (322 of 552).

Found by bisection over `tandem validate --claims`: 1.946 and 19.99. Every other row of chapter 3 is a prediction.
"""
import json
import pathlib

PACE = 1.95
CPU_KERNEL_US = 20
HOSTS = pathlib.Path(__file__).parents[3] / "configs" / "hosts" / "executor"
PACED = ("wake_us", "pop_us", "value_return_us", "dequeue_us", "step_begin_us", "op_gap_us", "layer_gap_us",
         "update_gap_us")
STATED = "thesis section 3.4.3 (2 x Xeon Gold 6248, TensorFlow 2.8): "


def main():
    host = json.loads((HOSTS / "tensorflow.json").read_text())
    host["name"] = "xeon_gold_6248"
    constants = host["constants"]
    for name in PACED:
        one = constants[name]
        one.update(value=round(one["value"] * PACE, 2), kind="fitted",
                   source=f"{PACE} times that of tensorflow.json: {one['source']}",
                   fitted_on="thesis 3.4.4, LeNet-5 at batch 1 (claims T037, T039)")
    constants["enqueue_us"].update(value=100, kind="spec", source=STATED + "mean time of an enqueue, about 0.1 ms at any batch")
    constants["launch_us"].update(value=200, kind="spec", source=STATED + "a dequeue takes about twice an enqueue")
    constants["cpu_kernel_us"].update(value=CPU_KERNEL_US, kind="fitted",
                                      source="with it kernels are 7 % of the step of ResNet-50 at batch 1 (thesis section 3.4.2)",
                                      fitted_on="thesis 3.4.2, ResNet-50 at batch 1 (claim T003)")
    print(json.dumps(host, indent=2))


main()
