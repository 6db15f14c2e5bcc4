#!/usr/bin/env python3
"""Export networks of workloads/record as ONNX and strip them of weights, for the tests of workloads/onnx.

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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "workloads", "record"))
import programs  # noqa: E402

KEPT_BYTES = 1024  # Numbers that say shapes and scales are shorter.


def program(name, symbols):
    """The model, its inputs, and which of their sizes are symbols: those that change with a symbol."""
    sizes = {symbol: 2 + 6 * i for i, symbol in enumerate(symbols)}
    if "seq" in sizes:
        sizes["seq"] = 128
    made = getattr(programs, name)(**sizes)
    axes = []
    for tensor in made.inputs:
        axes.append({axis: symbol for axis, size in enumerate(tensor.shape)
                     for symbol, value in sizes.items() if size == value})
    return made.model, made.inputs, axes


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


def strip(model):
    """Drops what no shape depends on: long weights, documentation, shapes that the exporter inferred."""
    graph = model.graph
    for tensor in graph.initializer:
        if len(tensor.raw_data) <= KEPT_BYTES and tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        tensor.ClearField("raw_data")
        del tensor.external_data[:]
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="stripped")
    for message in [model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output]:
        message.ClearField("doc_string")
        del message.metadata_props[:]
    for node in graph.node:
        for attribute in node.attribute:
            if len(attribute.t.raw_data) > KEPT_BYTES:
                attribute.t.ClearField("raw_data")
    del graph.value_info[:]
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="of workloads/record/programs.py")
    parser.add_argument("task", choices=("train", "infer"))
    parser.add_argument("exporter", choices=("torchscript", "dynamo"))
    parser.add_argument("--symbols", default="batch", help="e.g. batch,seq")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    model, inputs, axes = program(arguments.program, arguments.symbols.split(","))
    model.train(arguments.task == "train")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.01)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        export(model, inputs, axes, arguments.task, arguments.exporter, path)
        onnx.save(strip(onnx.load(path, load_external_data=False)), arguments.out)


if __name__ == "__main__":
    main()
