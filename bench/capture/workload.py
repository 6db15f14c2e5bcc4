"""A network with what a step of it needs, and the encoder, the loss and the optimizers that several share."""
import torch
import torch.nn.functional as F
from torch import nn

SGD = "sgd"
PLAIN_SGD = "plain_sgd"
ADAMW = "adamw"


class Workload:
    """A model with synthetic inputs on the device, its loss and the kind of optimizer it uses."""

    def __init__(self, model, inputs, loss, optimizer, notes=None):
        # Without norms a rate of 0.1 diverges, and a GPU that multiplies NaN takes less power.
        normalised = any("Norm" in type(module).__name__ for module in model.modules())
        self.rate = 0.1 if normalised else 1e-4
        self.model = model
        self.inputs = inputs
        self.loss = loss
        self.optimizer_kind = optimizer
        self.notes = notes or {}
        self.prepare = lambda: None   # once the model has its type

    def make_optimizer(self, capturable, fused=False):
        parameters = self.model.parameters()
        way = {"fused": True} if fused else {"foreach": True}
        if self.optimizer_kind == ADAMW:
            return torch.optim.AdamW(parameters, lr=1e-4, capturable=capturable, **way)
        if self.optimizer_kind == PLAIN_SGD:
            return torch.optim.SGD(parameters, lr=0.1)
        return torch.optim.SGD(parameters, lr=self.rate, momentum=0.9, weight_decay=1e-4, **way)


class Logits(nn.Module):
    """A Hugging Face model that returns its scores only, of words, clips or classes."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, inputs):
        return self.model(inputs).logits


class Hidden(nn.Module):
    """A Hugging Face encoder that returns the mean of its last layer only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, inputs):
        return self.model(inputs).last_hidden_state.mean(1)


def class_loss(target):
    """Cross entropy of [batch, classes] scores."""
    return lambda scores: F.cross_entropy(scores.float(), target)


def words_loss(vocab, words):
    """Cross entropy of [batch, positions, vocab] scores with the words that should stand there."""
    return lambda scores: F.cross_entropy(scores.view(-1, vocab).float(), words.view(-1))
