"""Programs that record.py records: those of bench/capture, so that recordings and captures can be compared.

Every function takes the symbols of its network and their default values, and gives a Program.
"""
import os
import sys

import torch
import torch.nn.functional as F

from program import OPTIMIZERS, Program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "capture"))
import networks_images as images  # noqa: E402
import networks_language as language  # noqa: E402
import networks_tables as tables  # noqa: E402
from published import (bert_large_answers, bert_large_answers_foreach, bert_large_classes,  # noqa: E402, F401
                       gpt2_large, opt_1_3b)
from workload import ADAMW, SGD, class_loss  # noqa: E402


def captured(builder, batch):
    """A workload of bench/capture as a program of the recorder."""
    load = builder(batch, "meta")

    def optimizer(_):
        return load.make_optimizer(capturable=False)
    return Program(load.model, load.inputs, load.loss, optimizer)


def classifier(name, batch, optimizer=SGD):
    """A torchvision classifier on 224x224 images; `batch` is the default."""
    def make(batch=batch):
        return captured(images.vision(name, optimizer), batch)
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


def large_classifier(model, pixels, batch):
    """A classifier of images of `pixels` by `pixels`."""
    images, classes = torch.randn(batch, 3, pixels, pixels), torch.randint(0, 1000, (batch,))
    return Program(model, (images,), class_loss(classes), OPTIMIZERS["sgd"])


def resnext101_32x4d(batch=64):
    from torchvision.models.resnet import Bottleneck, ResNet
    return large_classifier(ResNet(Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=4), 224, batch)


def efficientnet_b4(batch=32):
    from torchvision.models import efficientnet_b4 as make
    return large_classifier(make(), 380, batch)


shufflenet_v2_x1_0 = classifier("shufflenet_v2_x1_0", 64)
vit_b_16 = classifier("vit_b_16", 16, ADAMW)
convnext_tiny = classifier("convnext_tiny", 32, ADAMW)
swin_t = classifier("swin_t", 32, ADAMW)


def lenet5(batch=1024):
    return captured(images.lenet5, batch)


def dlrm(batch=2048):
    return captured(tables.dlrm, batch)


def shapes_of(name, function, writes=()):
    """A custom operation of which `function` tells the results' sizes: nothing is computed."""
    operation = torch.library.custom_op(name, function, mutates_args=writes)
    operation.register_fake(function)
    return operation


def rows_of(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return table.new_empty((*index.shape, table.shape[1]))


def rows_added(table: torch.Tensor, index: torch.Tensor, gradient: torch.Tensor) -> None:
    return None


def interaction(features: torch.Tensor) -> torch.Tensor:
    """The first feature and all products of two, padded to a multiple of eight."""
    batch, count, width = features.shape
    columns = width + count * (count - 1) // 2
    return features.new_empty((batch, (columns + 7) // 8 * 8))


def interaction_gradient(features: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(features)


# Kernels of NVIDIA's own DLRM (DeepLearningExamples, dlrm/cuda_src): they fetch and update the rows of all
# tables at once and multiply the features of a sample without writing the products.
gather_rows = shapes_of("dlrm::gather_rows", rows_of)
add_rows = shapes_of("dlrm::add_rows_", rows_added, writes=("table",))
dot_interact = shapes_of("dlrm::dot_interact", interaction)
dot_interact_backward = shapes_of("dlrm::dot_interact_backward", interaction_gradient)


class FusedRows(torch.autograd.Function):
    """The gradient is added to the table at once; the optimizer never sees it."""

    @staticmethod
    def forward(context, table, index):
        context.save_for_backward(table, index)
        return gather_rows(table, index)

    @staticmethod
    def backward(context, gradient):
        table, index = context.saved_tensors
        add_rows(table.detach(), index, gradient)
        return None, None


class FusedInteraction(torch.autograd.Function):
    @staticmethod
    def forward(context, features):
        context.save_for_backward(features)
        return dot_interact(features)

    @staticmethod
    def backward(context, gradient):
        return dot_interact_backward(context.saved_tensors[0], gradient)


class FusedDlrm(torch.nn.Module):
    """The DLRM of bench/capture with NVIDIA's kernels: one table for all features."""

    def __init__(self):
        super().__init__()
        count, rows, width = tables.Dlrm.TABLES, tables.Dlrm.ROWS, tables.Dlrm.DIM
        self.bottom = tables.perceptron(13, 512, 256, width)
        self.table = torch.nn.Parameter(torch.empty(count * rows, width))
        pairs = (count + 1) * count // 2
        self.top = tables.perceptron((width + pairs + 7) // 8 * 8, 1024, 1024, 512, 256)
        self.last = torch.nn.Linear(256, 1)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = FusedRows.apply(self.table, sparse)
        features = torch.cat([x.unsqueeze(1), rows.to(x.dtype)], dim=1)
        return self.last(self.top(FusedInteraction.apply(features)))


def dlrm_fused(batch=2048):
    dense = torch.randn(batch, 13)
    sparse = torch.randint(0, tables.Dlrm.ROWS, (batch, tables.Dlrm.TABLES))
    target = torch.rand(batch, 1).round()

    def loss(scores):
        return F.binary_cross_entropy_with_logits(scores.float(), target)
    return Program(FusedDlrm(), (dense, sparse), loss, lambda parameters: torch.optim.SGD(parameters, lr=0.1))


def bert_base(batch=16, seq=128):
    return captured(language.bert(12, seq), batch)


def bert_large(batch=16, seq=128):
    """BERT large: 24 layers of 1024, 16 heads."""
    return captured(language.bert(24, seq, 1024), batch)


class Pretraining(torch.nn.Module):
    """Scores of the words at 20 places of each sequence that were masked, and of whether the second sentence follows the first."""
    MASKED = 20

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, places):
        read, pooled = self.model.bert(ids, return_dict=False)
        masked = torch.index_select(read.flatten(0, 1), 0, places)
        return self.model.cls(masked, pooled)


def bert_large_pretraining(batch=16, seq=128):
    """BERT large as papers and MLPerf trained it before PyTorch 2: attention by products, softmax and dropout."""
    from transformers import BertConfig, BertForPreTraining
    config = BertConfig(num_hidden_layers=24, hidden_size=1024, num_attention_heads=16, intermediate_size=4096,
                        attn_implementation="eager")
    model = Pretraining(BertForPreTraining(config))
    ids = torch.randint(0, config.vocab_size, (batch, seq))
    places = torch.randint(0, batch * seq, (Pretraining.MASKED * batch,))
    words = torch.randint(0, config.vocab_size, (Pretraining.MASKED * batch,))
    follows = torch.randint(0, 2, (batch,))

    def loss(scores):
        return F.cross_entropy(scores[0].float(), words) + F.cross_entropy(scores[1].float(), follows)
    return Program(model, (ids, places), loss, adamw)


def distilbert(batch=16, seq=256):
    """Two classes of sequences."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification
    model = language.Logits(DistilBertForSequenceClassification(DistilBertConfig()))
    ids = torch.randint(0, DistilBertConfig().vocab_size, (batch, seq))
    return Program(model, (ids,), class_loss(torch.randint(0, 2, (batch,))), adamw)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-4, foreach=True)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4, foreach=True)


def gpt2(batch=4, seq=512):
    return captured(language.gpt2(12, seq), batch)


def llama(batch=4, seq=512):
    return captured(language.llama(16, seq), batch)


def lstm(batch=64, seq=64):
    return captured(language.recurrent(torch.nn.LSTM, seq), batch)


def gru(batch=32, seq=64):
    return captured(language.recurrent(torch.nn.GRU, seq), batch)


def unet(batch=16):
    return captured(images.unet, batch)


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
    return Program(PointNet(), (torch.randn(batch, 3, 1024),), class_loss(target), adam)
