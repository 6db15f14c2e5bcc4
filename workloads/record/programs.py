"""Programs that record.py records: those of bench/capture, so that recordings and captures can be compared."""
import os
import sys

import torch

from record import Program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "capture"))
import workloads


def captured(builder, batch):
    """A workload of bench/capture as a program of the recorder."""
    load = builder(batch, "meta")

    def optimizer(_):
        return load.make_optimizer(capturable=False)
    return Program(load.model, load.inputs, load.loss, optimizer)


def resnet50(batch=32):
    return captured(workloads.BUILDERS["resnet50"], batch)


def bert_base(batch=16, seq=128):
    return captured(workloads.bert(12, seq), batch)
