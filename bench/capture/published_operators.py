#!/usr/bin/env python3
"""Single operators that others measured, as networks that `tandem run` takes and `tandem validate` scores.

    published_operators.py deepbench FOLDER OUT     DeepBench's sheets of a V100 (baidu-research/DeepBench, converted to CSV)
    published_operators.py dlops FOLDER OUT         convolutions under Nsight Compute on an A100
                                                    (leleucas/Actual-Parameter-Collection-for-Machine-Learning-Operators)

FOLDER holds their files; OUT/NAME.json is a network of one operation a row, OUT/NAME.csv what was measured of each, in the
same order: its name, GPU time, and bytes at the levels of memory where they were counted.
"""
import csv
import gzip
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workloads" / "record"))
from network_file import network_text


class Operators:
    """A network whose operations have nothing to do with each other, and what each was measured to take."""

    def __init__(self, name, source, precision, columns):
        self.name, self.source, self.precision = name, source, precision
        self.columns = columns
        self.storages, self.tensors, self.ops, self.measured = [], [], [], []

    def tensor(self, sizes, strides=None, storage="input"):
        self.storages.append(storage)
        self.tensors.append([self.precision, sizes, strides, len(self.storages) - 1])
        return len(self.tensors) - 1

    def add(self, label, op, phase, args, out, values):
        self.ops.append({"op": op, "phase": phase, "module": 0, "args": args, "out": out})
        self.measured.append([label] + values)

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        network = {"schema": "tandem.network/1", "name": self.name, "framework": "pytorch", "task": "infer", "source": self.source,
                   "recorded_with": "published_operators.py", "optimizer": "none", "precision": "fp32",
                   "symbols": [{"name": "batch", "recorded": [1, 2], "default": 1}], "modules": [""], "storages": self.storages,
                   "tensors": self.tensors, "ops": self.ops}
        (folder / f"{self.name}.json").write_text(network_text(network))
        with open(folder / f"{self.name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["operator"] + self.columns)
            writer.writerows(self.measured)


def product(operators, m, n, k, a_transposed, b_transposed, us):
    """Column-major C = A B of M x N x K: the row-major product of the transposes."""
    left = operators.tensor([n, k], [1, n] if b_transposed else None)
    right = operators.tensor([k, m], [1, k] if a_transposed else None)
    out = operators.tensor([n, m], None, "activation")
    label = f"{m}x{n}x{k} {'T' if a_transposed else 'N'}{'T' if b_transposed else 'N'}"
    operators.add(label, "aten::mm", "forward", [{"t": left}, {"t": right}], [out], [us])


def sizes_of(layer):
    batch, channels, height, width, filters, r, s, stride_h, stride_w, pad_h, pad_w = layer
    out_h, out_w = (height + 2 * pad_h - r) // stride_h + 1, (width + 2 * pad_w - s) // stride_w + 1
    return [batch, channels, height, width], [filters, channels, r, s], [batch, filters, out_h, out_w]


def label_of(layer):
    batch, channels, height, width, filters, r, s, stride_h, stride_w, pad_h, pad_w = layer
    return f"{batch}x{channels}x{height}x{width} {filters}x{r}x{s}/{stride_h} pad {pad_h}"


def convolution(operators, layer, values):
    image, weight, out = sizes_of(layer)
    stride, pad = list(layer[7:9]), list(layer[9:11])
    x, w = operators.tensor(image), operators.tensor(weight, None, "parameter")
    y = operators.tensor(out, None, "activation")
    args = [{"t": x}, {"t": w}, pad, stride, [1, 1], 1, True, False, False]
    operators.add(label_of(layer), "aten::cudnn_convolution", "forward", args, [y], values)


def gradient(operators, layer, of_weight, us):
    image, weight, out = sizes_of(layer)
    stride, pad = list(layer[7:9]), list(layer[9:11])
    dy, x, w = operators.tensor(out), operators.tensor(image), operators.tensor(weight, None, "parameter")
    made = operators.tensor(weight if of_weight else image, None, "gradient" if of_weight else "activation")
    mask = [not of_weight, of_weight, False]
    args = [{"t": dy}, {"t": x}, {"t": w}, [0], stride, pad, [1, 1], False, [0, 0], 1, mask]
    outs = [None, made, None] if of_weight else [made, None, None]
    operators.add(label_of(layer), "aten::convolution_backward", "backward", args, outs, [us])


def deepbench(folder, out):
    source = "baidu-research/DeepBench at da81ba7, results/train/DeepBench_NV_V100.xlsx"
    for sheet, precision, name in (("Results_FP32.csv", "fp32", "fp32"), ("Results_-_FP16_ip_Mixed_math.csv", "fp16", "half")):
        kinds = ("products", "convolutions", "input_gradients", "weight_gradients")
        made = {kind: Operators(f"{kind}_{name}", source, precision, ["gpu_us"]) for kind in kinds}
        section = ""
        for row in csv.reader(open(folder / sheet)):
            section = row[0] or section
            if len(row) < 9 or not row[2].isdigit():
                continue
            if section.startswith("Dense"):
                m, n, k = map(int, row[2:5])
                product(made["products"], m, n, k, row[5] == "T", row[6] == "T", round(float(row[8]) * 1e3, 3))
            elif section.startswith("Conv"):
                width, height, channels, batch, filters, s, r, pad_w, pad_h, stride_w, stride_h = map(int, row[2:13])
                layer = (batch, channels, height, width, filters, r, s, stride_h, stride_w, pad_h, pad_w)
                for column, kind in ((13, "convolutions"), (14, "input_gradients"), (15, "weight_gradients")):
                    try:
                        us = round(float(row[column]) * 1e3, 3)
                    except ValueError:
                        continue  # the first layer has no gradient of its input
                    if kind == "convolutions":
                        convolution(made[kind], layer, [us])
                    else:
                        gradient(made[kind], layer, kind == "weight_gradients", us)
        for operators in made.values():
            operators.write(out)


def dlops(folder, out):
    source = "leleucas/Actual-Parameter-Collection-for-Machine-Learning-Operators at 5c4015a, conv2d, batch 64"
    keys = ["Batch_sizeN", "input_channel", "image_size_H", "image_size_W", "output_channel", "kernel_sizeR", "kernel_sizeS",
            "strideU", "strideV", "pad_h", "pad_w"]
    bytes_of = ["dram__bytes.sum", "lts__t_bytes.sum", "l1tex__t_bytes.sum"]
    for kernel in ("k1", "k3"):
        operators = Operators(f"convolutions_{kernel}", source, "fp32", ["gpu_us", "dram_bytes", "l2_bytes", "l1_bytes"])
        with gzip.open(folder / f"conv2d_shape_metrics_batch64_{kernel}.csv.gz", "rt") as file:
            for row in csv.DictReader(file):
                # What networks have: fewer channels or pixels run kernels of their own, many of them without any rule here.
                if int(row["input_channel"]) < 16 or int(row["image_size_H"]) < 8:
                    continue
                layer = tuple(int(row[key]) for key in keys)
                values = [round(float(row["Time"]) * 1e6, 3)] + [int(float(row[key])) for key in bytes_of]
                convolution(operators, layer, values)
        operators.write(out)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("deepbench", "dlops"):
        sys.exit(__doc__)
    {"deepbench": deepbench, "dlops": dlops}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
