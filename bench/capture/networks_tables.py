"""Networks on tables and graphs: recommenders, neighbours of nodes."""
import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, PLAIN_SGD, SGD, Workload, class_loss


def perceptron(*widths):
    """Linear layers, each followed by a ReLU."""
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    TABLES, ROWS, DIM = 26, 200_000, 128

    def __init__(self):
        super().__init__()
        self.bottom = perceptron(13, 512, 256, self.DIM)
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(self.ROWS, self.DIM, mode="sum", sparse=True) for _ in range(self.TABLES))
        features = self.TABLES + 1
        pairs = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("pairs", pairs)
        self.top = perceptron(self.DIM + pairs.shape[1], 1024, 1024, 512, 256)
        self.last = nn.Linear(256, 1)

    def forward(self, dense, sparse, offsets):
        x = self.bottom(dense)
        rows = [table(sparse[i], offsets) for i, table in enumerate(self.tables)]
        stacked = torch.stack([x] + [row.to(x.dtype) for row in rows], dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        flat = products[:, self.pairs[0], self.pairs[1]]
        return self.last(self.top(torch.cat([x, flat], dim=1)))


def dlrm(batch, device):
    dense = torch.randn(batch, 13, device=device)
    sparse = torch.randint(0, Dlrm.ROWS, (Dlrm.TABLES, batch), device=device)
    offsets = torch.arange(batch, device=device)
    target = torch.rand(batch, 1, device=device).round()

    def loss(scores):
        return F.binary_cross_entropy_with_logits(scores.float(), target)
    return Workload(Dlrm().to(device), (dense, sparse, offsets), loss, PLAIN_SGD)


class GraphLayers(nn.Module):
    """Three layers that add up what the neighbours of a node say."""

    def __init__(self, width, classes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.last = nn.Linear(width, classes)

    def forward(self, x, source, target, degree):
        for own, layer in zip(self.own, self.layers):
            heard = torch.zeros_like(x).index_add_(0, target, x[source]) / degree
            x = F.relu(own(x) + layer(heard))
        return self.last(x)


def graph_sage(batch, device, nodes=1000, edges=16, width=256, classes=40):
    """GraphSAGE on `batch` thousand nodes with 16 random edges each."""
    count = batch * nodes
    x = torch.randn(count, width, device=device)
    source, target = (torch.randint(0, count, (count * edges,), device=device) for _ in range(2))
    degree = torch.bincount(target, minlength=count).clamp(min=1).unsqueeze(1).float()
    labels = torch.randint(0, classes, (count,), device=device)
    return Workload(GraphLayers(width, classes).to(device), (x, source, target, degree), class_loss(labels), ADAMW)


class DeepCross(nn.Module):
    """DCN V2: three crosses of all features with themselves beside a perceptron."""
    FIELDS, ROWS, DIM = 26, 100_000, 16

    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(self.FIELDS * self.ROWS, self.DIM)
        width = self.FIELDS * self.DIM + 13
        self.crosses = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.deep = perceptron(width, 1024, 1024, 512)
        self.last = nn.Linear(width + 512, 1)

    def forward(self, dense, sparse):
        first = torch.cat([dense, self.rows(sparse).flatten(1)], dim=1)
        x = first
        for cross in self.crosses:
            x = first * cross(x) + x
        return self.last(torch.cat([x, self.deep(first)], dim=1))


def deep_cross(batch, device):
    dense = torch.randn(batch, 13, device=device)
    fields = torch.arange(DeepCross.FIELDS, device=device) * DeepCross.ROWS
    sparse = torch.randint(0, DeepCross.ROWS, (batch, DeepCross.FIELDS), device=device) + fields
    target = torch.rand(batch, 1, device=device).round()

    def loss(scores):
        return F.binary_cross_entropy_with_logits(scores.float(), target)
    return Workload(DeepCross().to(device), (dense, sparse), loss, SGD)


class AttendedNeighbours(nn.Module):
    """A layer in which each node weighs what its neighbours say, in eight ways."""

    def __init__(self, before, width, heads=8):
        super().__init__()
        self.heads = heads
        self.say = nn.Linear(before, width, bias=False)
        self.of_source = nn.Parameter(torch.randn(1, heads, width // heads) * 0.1)
        self.of_target = nn.Parameter(torch.randn(1, heads, width // heads) * 0.1)

    def forward(self, x, source, target):
        said = self.say(x).view(x.shape[0], self.heads, -1)
        weights = (said * self.of_source).sum(-1)[source] + (said * self.of_target).sum(-1)[target]
        weights = F.leaky_relu(weights, 0.2).float().exp()
        total = torch.zeros(x.shape[0], self.heads, device=x.device).index_add_(0, target, weights)
        shares = (weights / total[target]).unsqueeze(-1).to(said.dtype)
        heard = torch.zeros_like(said).index_add_(0, target, shares * said[source])
        return F.elu(heard.flatten(1))


class GraphAttention(nn.Module):
    def __init__(self, features, width, classes):
        super().__init__()
        self.layers = nn.ModuleList([AttendedNeighbours(features, width), AttendedNeighbours(width, width)])
        self.last = nn.Linear(width, classes)

    def forward(self, x, source, target):
        for layer in self.layers:
            x = layer(x, source, target)
        return self.last(x)


def graph_attention(batch, device, nodes=1000, edges=8, width=256, classes=40):
    """GAT on `batch` thousand nodes with 8 random edges each."""
    count = batch * nodes
    x = torch.randn(count, 128, device=device)
    source, target = (torch.randint(0, count, (count * edges,), device=device) for _ in range(2))
    target[:count] = torch.arange(count, device=device)  # Each node hears at least one.
    labels = torch.randint(0, classes, (count,), device=device)
    return Workload(GraphAttention(128, width, classes).to(device), (x, source, target), class_loss(labels), ADAMW)


class Ncf(nn.Module):
    """NeuMF: a user and an item as a product and through a perceptron."""
    USERS, ITEMS = 138_000, 27_000

    def __init__(self, factors=64, widths=(256, 256, 128, 64)):
        super().__init__()
        self.rows = nn.ModuleList(nn.Embedding(count, dim) for count, dim in ((self.USERS, factors), (self.ITEMS, factors),
                                                                           (self.USERS, widths[0] // 2), (self.ITEMS, widths[0] // 2)))
        self.deep = perceptron(*widths)
        self.last = nn.Linear(factors + widths[-1], 1)

    def forward(self, user, item):
        product = self.rows[0](user) * self.rows[1](item)
        deep = self.deep(torch.cat([self.rows[2](user), self.rows[3](item)], dim=1))
        return self.last(torch.cat([product, deep], dim=1))


def ncf(batch, device):
    user = torch.randint(0, Ncf.USERS, (batch,), device=device)
    item = torch.randint(0, Ncf.ITEMS, (batch,), device=device)
    target = torch.rand(batch, 1, device=device).round()
    return Workload(Ncf().to(device), (user, item), lambda out: F.binary_cross_entropy_with_logits(out.float(), target), ADAMW)


class FeatureTokens(nn.Module):
    """FT-Transformer: each column of a table is a token."""

    def __init__(self, numbers=32, categories=16, rows=1000, width=192, layers=3, classes=10):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.randn(numbers, width) * 0.1) for _ in range(2))
        self.rows = nn.Embedding(categories * rows, width)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        layer = nn.TransformerEncoderLayer(width, 8, 512, 0.1, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.last = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, numbers, categories):
        told = numbers.unsqueeze(-1) * self.weight + self.bias
        x = torch.cat([self.first.expand(len(numbers), -1, -1), told, self.rows(categories)], dim=1)
        return self.last(self.layers(x)[:, 0])


def ft_transformer(batch, device, numbers=32, categories=16, rows=1000):
    values = torch.randn(batch, numbers, device=device)
    fields = torch.arange(categories, device=device) * rows
    named = torch.randint(0, rows, (batch, categories), device=device) + fields
    target = torch.randint(0, 10, (batch,), device=device)
    return Workload(FeatureTokens(numbers, categories, rows).to(device), (values, named), class_loss(target), ADAMW)


class FactorsAndDeep(nn.Module):
    """DeepFM: products of all pairs of features, as a square less squares, beside a perceptron."""
    FIELDS, ROWS, DIM = 39, 50_000, 16

    def __init__(self):
        super().__init__()
        self.linear = nn.Embedding(self.FIELDS * self.ROWS, 1)
        self.rows = nn.Embedding(self.FIELDS * self.ROWS, self.DIM)
        layers = []
        for before, after in ((self.FIELDS * self.DIM, 400), (400, 400), (400, 400)):
            layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(), nn.Dropout(0.2)]
        self.deep = nn.Sequential(*layers, nn.Linear(400, 1))

    def forward(self, sparse):
        rows = self.rows(sparse)
        pairs = 0.5 * (rows.sum(1).square() - rows.square().sum(1)).sum(1, keepdim=True)
        return self.linear(sparse).sum(1) + pairs + self.deep(rows.flatten(1))


def deepfm(batch, device):
    fields = torch.arange(FactorsAndDeep.FIELDS, device=device) * FactorsAndDeep.ROWS
    sparse = torch.randint(0, FactorsAndDeep.ROWS, (batch, FactorsAndDeep.FIELDS), device=device) + fields
    target = torch.rand(batch, 1, device=device).round()
    return Workload(FactorsAndDeep().to(device), (sparse,), lambda out: F.binary_cross_entropy_with_logits(out.float(), target), ADAMW)


def patchtst(batch, device, length=512, columns=7, ahead=96):
    """PatchTST: seven series as patches of 16 steps, three layers, the next 96 steps."""
    from transformers import PatchTSTConfig, PatchTSTForPrediction

    class Ahead(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, past):
            return self.model(past_values=past).prediction_outputs
    config = PatchTSTConfig(num_input_channels=columns, context_length=length, prediction_length=ahead, patch_length=16, patch_stride=8)
    past = torch.randn(batch, length, columns, device=device)
    future = torch.randn(batch, ahead, columns, device=device)
    return Workload(Ahead(PatchTSTForPrediction(config)).to(device), (past,), lambda out: F.mse_loss(out.float(), future), ADAMW)
