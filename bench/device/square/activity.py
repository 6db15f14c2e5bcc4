#!/usr/bin/env python3
"""GRACT, SMACT, SMOCC of points kept running by launch_time --hold (NVML's GPM, from Hopper on).

  python3 points.py grid | python3 activity.py ./launch_time > activity.csv
"""
import subprocess
import sys
import time

import pynvml as nvml

HOLD_S, SETTLE_S, WINDOW_S = 0.5, 0.12, 0.3
METRICS = {"gract": nvml.NVML_GPM_METRIC_GRAPHICS_UTIL, "smact": nvml.NVML_GPM_METRIC_SM_UTIL,
           "smocc": nvml.NVML_GPM_METRIC_SM_OCCUPANCY,
           "tenso": nvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL, "drama": nvml.NVML_GPM_METRIC_DRAM_BW_UTIL}


def metrics_between(first, second):
    """{name: ratio} between two samples."""
    request = nvml.c_nvmlGpmMetricsGet_t()
    request.version = nvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(METRICS)
    request.sample1, request.sample2 = first, second
    for place, metric in enumerate(METRICS.values()):
        request.metrics[place].metricId = metric
    nvml.nvmlGpmMetricsGet(request)
    return {name: request.metrics[place].value / 100 for place, name in enumerate(METRICS)}


def main():
    nvml.nvmlInit()
    device = nvml.nvmlDeviceGetHandleByIndex(0)
    samples = nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()
    program = subprocess.Popen([sys.argv[1], "--hold", str(HOLD_S)], stdin=sys.stdin,
                               stdout=subprocess.PIPE, text=True)
    print("kernel,blocks,threads,parameter,shared_bytes,stream_us,sm_mhz," + ",".join(METRICS))
    for line in program.stdout:
        if line.strip() == "running":
            time.sleep(SETTLE_S)
            nvml.nvmlGpmSampleGet(device, samples[0])
            time.sleep(WINDOW_S)
            nvml.nvmlGpmSampleGet(device, samples[1])
            clock = nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM)
            ratios = metrics_between(*samples)
        else:
            values = [f"{ratio:.4f}" for ratio in ratios.values()]
            print(line.strip(), clock, *values, sep=",", flush=True)


if __name__ == "__main__":
    main()
