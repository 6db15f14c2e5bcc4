"""Programs whose rates others published: NVIDIA's (DeepLearningExamples), written anew from what they launch, and those of
Transformers before attention was fused, which NeuSight (ASPLOS'25) timed.
"""
import torch
import torch.nn.functional as F

from program import Program
from workload import Logits  # of bench/capture, which programs.py names


class Dense(torch.nn.Linear):
    """A layer of sequences as PyTorch computed it until 1.11: a product, then its bias."""

    def forward(self, x):
        return F.linear(x, self.weight).add_(self.bias)


class DenseGelu(torch.nn.Linear):
    """A layer whose bias is added with the activation, not in place."""

    def forward(self, x):
        return F.gelu(self.bias + F.linear(x, self.weight))


class Layer(torch.nn.Module):
    """A layer of BERT with attention by products, of the masked scores."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = Dense(width, width), Dense(width, width), Dense(width, width)
        self.attended, self.wide, self.narrow = Dense(width, width), DenseGelu(width, 4 * width), Dense(4 * width, width)
        self.norm_attended, self.norm_out = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.drop_scores, self.drop_attended, self.drop_out = (torch.nn.Dropout(0.1) for _ in range(3))

    def split(self, x):
        return x.reshape(*x.shape[:2], self.heads, -1)

    def forward(self, x, mask):
        query, value = self.split(self.query(x)).permute(0, 2, 1, 3), self.split(self.value(x)).permute(0, 2, 1, 3)
        scores = query @ self.split(self.key(x)).permute(0, 2, 3, 1)
        scores = scores / query.shape[-1] ** 0.5 + mask
        read = self.drop_scores(scores.softmax(-1)) @ value
        read = read.permute(0, 2, 1, 3).contiguous().flatten(2)
        x = self.norm_attended(self.drop_attended(self.attended(read)) + x)
        return self.norm_out(self.drop_out(self.narrow(self.wide(x))) + x)


class Answers(torch.nn.Module):
    """BERT that scores every token as the first and the last of an answer."""

    def __init__(self, layers=24, width=1024, heads=16, words=30528):
        super().__init__()
        self.words, self.places, self.sentences = (torch.nn.Embedding(rows, width) for rows in (words, 512, 2))
        self.norm, self.drop = torch.nn.LayerNorm(width), torch.nn.Dropout(0.1)
        self.layers = torch.nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.scores = Dense(width, 2)

    def forward(self, words, sentences, present):
        mask = (1.0 - present[:, None, None].to(self.norm.weight.dtype)) * -10000.0
        places = torch.arange(words.shape[1], device=words.device).expand_as(words)
        x = self.words(words) + self.places(places) + self.sentences(sentences)
        x = self.drop(self.norm(x))
        for layer in self.layers:
            x = layer(x, mask)
        first, last = self.scores(x).split(1, dim=-1)
        return first.squeeze(-1), last.squeeze(-1)


class PerParameterAdam(torch.optim.Optimizer):
    """Adam as the program has it in 32 bits: one parameter after the other, all of them bounded by one norm, which the
    host reads."""

    def __init__(self, parameters):
        super().__init__(parameters, {"rate": 3e-5, "decay": 0.01, "epsilon": 1e-6})

    def step(self):
        for group in self.param_groups:
            norms = torch._foreach_norm(group["params"])
            norm = torch.stack(norms).norm().item()
            for parameter in group["params"]:
                self.update(parameter, norm, group)

    def update(self, parameter, norm, group):
        state = self.state[parameter]
        if not state:
            state.update(mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
        mean, square, gradient = state["mean"], state["square"], parameter.grad
        bounded = parameter.data * 1.0 / norm
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        change = mean / (square.sqrt() + group["epsilon"])
        if parameter.dim() > 1:
            change += group["decay"] * bounded
        parameter.data.add_(-(group["rate"] * change))


def answers(optimizer, batch, seq):
    words = torch.randint(0, 30528, (batch, seq))
    sentences = torch.randint(0, 2, (batch, seq))
    present = torch.ones(batch, seq, dtype=torch.long)
    first, last = torch.randint(0, seq, (batch,)), torch.randint(0, seq, (batch,))

    def loss(scores):
        return (F.cross_entropy(scores[0].float(), first) + F.cross_entropy(scores[1].float(), last)) / 2
    return Program(Answers(), (words, sentences, present), loss, optimizer)


def bert_large_answers(batch=32, seq=384):
    """As the program trains in 32 bits."""
    return answers(PerParameterAdam, batch, seq)


def bert_large_answers_foreach(batch=32, seq=384):
    """As the program trains in 16 bits, kernels that update many parameters each."""
    return answers(lambda parameters: torch.optim.AdamW(parameters, lr=3e-5, foreach=True), batch, seq)


def bert_large_classes(batch=8, seq=512):
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(num_hidden_layers=24, hidden_size=1024, num_attention_heads=16, intermediate_size=4096,
                        attn_implementation="eager")
    return Program(Logits(BertForSequenceClassification(config)), (torch.randint(0, config.vocab_size, (batch, seq)),))


def gpt2_large(batch=4, seq=1024):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=36, n_embd=1280, n_head=20, attn_implementation="eager", use_cache=False)
    return Program(Logits(GPT2LMHeadModel(config)), (torch.randint(0, config.vocab_size, (batch, seq)),))


def opt_1_3b(batch=2, seq=2048):
    from transformers import OPTConfig, OPTForCausalLM
    config = OPTConfig(num_hidden_layers=24, hidden_size=2048, ffn_dim=8192, num_attention_heads=32,
                       word_embed_proj_dim=2048, attn_implementation="eager", use_cache=False)
    return Program(Logits(OPTForCausalLM(config)), (torch.randint(0, config.vocab_size, (batch, seq)),))
