"""Decoders that answer: a step writes one more word behind those whose keys and values it keeps."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_language import LLAMA
from workload import ADAMW, Workload, words_loss

CONTEXT = 1024   # words that the caches hold


class NextWord(nn.Module):
    """A causal model of Transformers with its static cache, full but for one place: the scores of the next word. Every step
    writes the same place again, so that steps are alike."""

    def __init__(self, model, batch, device, context=CONTEXT):
        super().__init__()
        from transformers import StaticCache
        self.model = model
        self.batch = batch
        self.device = device
        self.context = context
        self.cache = StaticCache(config=model.config, max_cache_len=context)
        self.lengths = None

    def fill(self):
        """The caches as a prompt leaves them; in the types that the model has by now."""
        ids = torch.randint(0, self.model.config.vocab_size, (self.batch, 1), device=self.device)
        with torch.no_grad():
            self.model(ids, past_key_values=self.cache, use_cache=True)
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(self.context - 1)
        self.lengths = [layer.cumulative_length for layer in self.cache.layers]

    def forward(self, ids):
        scores = self.model(ids, past_key_values=self.cache, use_cache=True).logits
        torch._foreach_sub_(self.lengths, 1)
        return scores


def word_of(kind, **sizes):
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForCausalLM
        config = AutoConfig.for_model(kind, **sizes)
        model = NextWord(AutoModelForCausalLM.from_config(config).to(device), batch, device)
        vocab = config.vocab_size
        ids = torch.randint(0, vocab, (batch, 1), device=device)
        load = Workload(model, (ids,), words_loss(vocab, ids), ADAMW, {"context": CONTEXT})
        load.prepare = model.fill
        return load
    return builder


class CachedBlock(nn.Module):
    """Attention over the words so far, four query heads to a key, and a gated MLP, as people write them for speed."""

    def __init__(self, width, heads, keys, inner, batch, context):
        super().__init__()
        self.heads, self.keys, self.size = heads, keys, width // heads
        self.before, self.behind = nn.RMSNorm(width), nn.RMSNorm(width)
        self.joined = nn.Linear(width, (heads + 2 * keys) * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        self.register_buffer("k_cache", torch.zeros(batch, keys, context, self.size))
        self.register_buffer("v_cache", torch.zeros(batch, keys, context, self.size))

    @staticmethod
    def turned(x, angles):
        pairs = x.float().reshape(*x.shape[:-1], -1, 2)
        a, b = pairs[..., 0], pairs[..., 1]
        cos, sin = angles
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2).type_as(x)

    def attended(self, x, at, angles, mask):
        batch, words, width = x.shape
        q, k, v = self.joined(x).split([self.heads * self.size, self.keys * self.size, self.keys * self.size], -1)
        q = self.turned(q.view(batch, words, self.heads, self.size), angles).transpose(1, 2)
        k = self.turned(k.view(batch, words, self.keys, self.size), angles).transpose(1, 2)
        self.k_cache[:, :, at] = k
        self.v_cache[:, :, at] = v.view(batch, words, self.keys, self.size).transpose(1, 2)
        k = self.k_cache.repeat_interleave(self.heads // self.keys, 1)
        v = self.v_cache.repeat_interleave(self.heads // self.keys, 1)
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(batch, words, width))

    def forward(self, x, at, angles, mask):
        x = x + self.attended(self.before(x), at, angles, mask)
        y = self.behind(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class CachedDecoder(nn.Module):
    """Twelve layers of 2048 with caches of their own; takes words and the places where they stand."""

    def __init__(self, batch, layers=12, width=2048, heads=32, keys=8, inner=5632, vocab=32000, context=CONTEXT):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(CachedBlock(width, heads, keys, inner, batch, context) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.scores = nn.Linear(width, vocab, bias=False)
        turns = torch.outer(torch.arange(context).float(), 10000 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
        self.register_buffer("cos", turns.cos())
        self.register_buffer("sin", turns.sin())
        self.register_buffer("seen", torch.ones(context, context, dtype=torch.bool).tril())

    def forward(self, ids, at):
        angles = self.cos[at][:, None], self.sin[at][:, None]
        mask = self.seen[None, None, at]
        x = self.words(ids)
        for block in self.blocks:
            x = block(x, at, angles, mask)
        return self.scores(self.norm(x))


def own_word(batch, device):
    model = CachedDecoder(batch).to(device)
    ids = torch.randint(0, 32000, (batch, 1), device=device)
    at = torch.tensor([CONTEXT - 1], device=device)
    return Workload(model, (ids, at), words_loss(32000, ids), ADAMW, {"context": CONTEXT})


SERVED = {
    # One word of a decoder like Llama 3.2 1B, all 16 layers.
    "llama_word": word_of("llama", num_hidden_layers=16, **LLAMA),
    # Of a decoder like Qwen3, twelve narrow layers.
    "qwen3_word": word_of("qwen3", vocab_size=50304, hidden_size=1024, intermediate_size=3072, num_hidden_layers=12,
                          num_attention_heads=16, num_key_value_heads=4, head_dim=64),
    # Of GPT-2.
    "gpt2_word": word_of("gpt2"),
    # Of a decoder written for speed, after GPT-fast.
    "own_word": own_word,
}
