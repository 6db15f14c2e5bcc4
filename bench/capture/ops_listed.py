"""The layers of `layers_of_networks.csv`, at two batches: of the image networks of timm 1.0 and torchvision and of decoders those that stand
for most others that the table of measured layers was far from, and layers over time drawn at random (sizes as networks of sound have them)."""
import csv
import pathlib

from ops_compute import typed_cases

MOST_ELEMENTS = 2 ** 28  # of a tensor, at the larger batch
MORE = 4                 # times the smaller batch


def listed():
    with open(pathlib.Path(__file__).with_name("layers_of_networks.csv"), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield {name: int(value) for name, value in row.items()}


def smaller_batch(layer):
    elements = max(layer["in_channels"], layer["out_channels"]) * layer["side"] ** layer["dimensions"]
    return next((batch for batch in (16, 4) if MORE * batch * elements <= MOST_ELEMENTS), 1)


def passes(layer, batch):
    channels, groups, dimensions = layer["in_channels"], layer["groups"], layer["dimensions"]
    x = (batch, channels) + (layer["side"],) * dimensions
    weight = (layer["out_channels"], channels // groups) + (layer["filter"],) * dimensions
    name = "conv1d" if dimensions == 1 else "conv2d" if groups == 1 else "depthwise" if groups == channels else "grouped"
    orders = (False, True) if dimensions == 2 else (False,)
    yield from typed_cases(name, x, weight, layer["stride"], layer["padding"], groups, orders, layer["dilation"])


def listed_few():
    for layer in listed():
        yield from passes(layer, smaller_batch(layer))


def listed_many():
    for layer in listed():
        yield from passes(layer, MORE * smaller_batch(layer))
