#!/usr/bin/env python3
"""Export workloads of bench/capture as ONNX and strip them of weights, for the tests of workloads/onnx.

    pip install torch==2.11.0 torchvision==0.26.0 transformers==5.17.0 onnx onnxscript
    python export.py lenet5 train torchscript --out models/lenet5-train.onnx

Weights are made unequal first, for exporters store equal tensors once and drop biases of zeros. What is
left of a weight is its type and sizes: it points to a file that does not exist.
"""
import argparse
import os
import sys
import tempfile

import onnx
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "bench", "capture"))
import workloads  # noqa: E402

BATCH = 2  # While exporting; any number that no other size of an input has.
KEPT_BYTES = 64  # Numbers that say shapes and scales are shorter.


def program(name, seq):
    """The model, its inputs, and which of their sizes are symbols."""
    builders = {"lenet5": workloads.images.lenet5, "dlrm": workloads.tables.dlrm, "bert_base": workloads.language.bert(12, seq),
                "gpt2": workloads.language.gpt2(12, seq)}
    load = builders.get(name, workloads.images.vision(name, workloads.SGD))(BATCH, "cpu")
    sizes = {BATCH: "batch", seq: "seq"}
    axes = [{axis: sizes[size] for axis, size in enumerate(tensor.shape) if size in sizes} for tensor in load.inputs]
    return load.model, load.inputs, axes


def export(model, inputs, axes, task, exporter, path):
    if exporter == "dynamo":
        with torch.no_grad():
            torch.onnx.export(model, inputs, path, dynamo=True, dynamic_shapes=tuple(axes), external_data=True)
        return
    modes = torch.onnx.TrainingMode
    names = [f"input{i}" for i in range(len(inputs))]
    mode = modes.TRAINING if task == "train" else modes.PRESERVE
    torch.onnx.export(model, inputs, path, dynamo=False, input_names=names, opset_version=17, training=mode,
                      dynamic_axes=dict(zip(names, axes)), do_constant_folding=False)


def strip_tensor(tensor):
    """Only numbers that shapes may depend on stay: whole ones, and single fractions."""
    if len(tensor.raw_data) <= KEPT_BYTES and tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    tensor.ClearField("raw_data")
    del tensor.external_data[:]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="stripped")


def strip(graph):
    """Drops what no shape depends on: long weights, documentation, shapes that the exporter inferred."""
    for message in [graph, *graph.node, *graph.initializer, *graph.input, *graph.output]:
        message.ClearField("doc_string")
        del message.metadata_props[:]
    for tensor in graph.initializer:
        strip_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                strip(attribute.g)
            if attribute.HasField("t"):
                strip_tensor(attribute.t)
    del graph.value_info[:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", help="e.g. resnet50, bert_base")
    parser.add_argument("task", choices=("train", "infer"))
    parser.add_argument("exporter", choices=("torchscript", "dynamo"))
    parser.add_argument("--seq", type=int, default=128, help="of sequences while exporting")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    model, inputs, axes = program(arguments.workload, arguments.seq)
    model.train(arguments.task == "train")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.01)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        export(model, inputs, axes, arguments.task, arguments.exporter, path)
        exported = onnx.load(path, load_external_data=False)
    strip(exported.graph)
    del exported.metadata_props[:]
    onnx.save(exported, arguments.out)


if __name__ == "__main__":
    main()
