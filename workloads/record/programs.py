"""Programs that record.py records: those of bench/capture, so that recordings and captures can be compared.

Every function takes the symbols of its network and their default values, and gives a Program.
"""
import os
import sys

import torch
import torch.nn.functional as F

from program import Program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "capture"))
import workloads


def captured(builder, batch):
    """A workload of bench/capture as a program of the recorder."""
    load = builder(batch, "meta")

    def optimizer(_):
        return load.make_optimizer(capturable=False)
    return Program(load.model, load.inputs, load.loss, optimizer)


def classifier(name, batch, optimizer=workloads.SGD):
    """A torchvision classifier on 224x224 images; `batch` is the default."""
    def make(batch=batch):
        return captured(workloads.vision(name, optimizer), batch)
    make.__name__ = name
    return make


resnet50 = classifier("resnet50", 32)
resnext50_32x4d = classifier("resnext50_32x4d", 32)
mobilenet_v2 = classifier("mobilenet_v2", 64)
alexnet = classifier("alexnet", 128)
vgg16 = classifier("vgg16", 32)
resnet18 = classifier("resnet18", 64)
densenet121 = classifier("densenet121", 32)
efficientnet_b0 = classifier("efficientnet_b0", 64)
shufflenet_v2_x1_0 = classifier("shufflenet_v2_x1_0", 64)
vit_b_16 = classifier("vit_b_16", 16, workloads.ADAMW)
convnext_tiny = classifier("convnext_tiny", 32, workloads.ADAMW)
swin_t = classifier("swin_t", 32, workloads.ADAMW)


def lenet5(batch=1024):
    return captured(workloads.lenet5, batch)


def dlrm(batch=2048):
    return captured(workloads.dlrm, batch)


def bert_base(batch=16, seq=128):
    return captured(workloads.bert(12, seq), batch)


def bert_large(batch=16, seq=128):
    """BERT large: 24 layers of 1024, 16 heads."""
    return captured(workloads.bert(24, seq, 1024), batch)


def distilbert(batch=16, seq=256):
    """Two classes of sequences."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification
    model = workloads.Logits(DistilBertForSequenceClassification(DistilBertConfig()))
    ids = torch.randint(0, DistilBertConfig().vocab_size, (batch, seq))
    return Program(model, (ids,), workloads.class_loss(torch.randint(0, 2, (batch,))), adamw)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-4, foreach=True)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4, foreach=True)


def gpt2(batch=4, seq=512):
    return captured(workloads.gpt2(12, seq), batch)


def llama(batch=4, seq=512):
    return captured(lambda items, device: workloads.llama(items, device, seq), batch)


def lstm(batch=64, seq=64):
    return captured(workloads.recurrent(torch.nn.LSTM, seq), batch)


def gru(batch=32, seq=64):
    return captured(workloads.recurrent(torch.nn.GRU, seq), batch)


def unet(batch=16):
    return captured(workloads.unet, batch)


class Translator(torch.nn.Module):
    """torch.nn.Transformer between one table of embeddings and scores."""

    def __init__(self, vocab=8000, width=512):
        super().__init__()
        self.embed = torch.nn.Embedding(vocab, width)
        self.body = torch.nn.Transformer(width, batch_first=True)
        self.head = torch.nn.Linear(width, vocab)

    def forward(self, source, target):
        return self.head(self.body(self.embed(source), self.embed(target)))


def transformer(batch=32, seq=128):
    """The network of `Attention is all you need` as PyTorch ships it, without masks."""
    vocab = 8000
    source, target, truth = (torch.randint(0, vocab, (batch, seq)) for _ in range(3))

    def loss(scores):
        return F.cross_entropy(scores.reshape(-1, vocab).float(), truth.reshape(-1))
    return Program(Translator(vocab), (source, target), loss, adam)


class PointNet(torch.nn.Module):
    """Classes of clouds of 1024 points, after Qi et al. 2017 without its transforms."""

    def __init__(self, classes=40):
        super().__init__()
        layers = []
        for before, after in ((3, 64), (64, 64), (64, 128), (128, 1024)):
            layers += [torch.nn.Conv1d(before, after, 1), torch.nn.BatchNorm1d(after), torch.nn.ReLU()]
        self.points = torch.nn.Sequential(*layers)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(1024, 512), torch.nn.BatchNorm1d(512), torch.nn.ReLU(), torch.nn.Dropout(0.3),
            torch.nn.Linear(512, 256), torch.nn.BatchNorm1d(256), torch.nn.ReLU(), torch.nn.Linear(256, classes))

    def forward(self, cloud):
        return self.head(self.points(cloud).max(2)[0])


def pointnet(batch=64):
    target = torch.randint(0, 40, (batch,))
    return Program(PointNet(), (torch.randn(batch, 3, 1024),), workloads.class_loss(target), adam)
