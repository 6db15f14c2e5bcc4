"""Networks of Hugging Face that read and write text, and recurrent ones."""
import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, SGD, Logits, Workload, class_loss, words_loss


def bert(layers, seq=128, width=768):
    """Masked language model; the loss counts every position. A head has 64 columns."""
    def builder(batch, device):
        from transformers import BertConfig, BertForMaskedLM
        config = BertConfig(num_hidden_layers=layers, hidden_size=width, num_attention_heads=width // 64,
                            intermediate_size=4 * width)
        model = Logits(BertForMaskedLM(config)).to(device)
        vocab = config.vocab_size
        ids = torch.randint(0, vocab, (batch, seq), device=device)
        target = torch.randint(0, vocab, (batch * seq,), device=device)

        def loss(scores):
            return F.cross_entropy(scores.view(-1, vocab).float(), target)
        return Workload(model, (ids,), loss, ADAMW, {"seq": seq})
    return builder


def causal(kind, seq, **sizes):
    """A causal language model of one of Transformers' kinds, with these sizes: position i predicts token i + 1."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForCausalLM
        config = AutoConfig.for_model(kind, use_cache=False, **sizes)
        model = Logits(AutoModelForCausalLM.from_config(config)).to(device)
        vocab = config.vocab_size
        ids = torch.randint(0, vocab, (batch, seq), device=device)
        target = ids[:, 1:].reshape(-1)

        def loss(scores):
            return F.cross_entropy(scores[:, :-1].reshape(-1, vocab).float(), target)
        return Workload(model, (ids,), loss, ADAMW, {"seq": seq})
    return builder


def gpt2(layers, seq=512):
    return causal("gpt2", seq, n_layer=layers)


# A decoder like Llama 3.2 1B (16 layers of 2048): 32 heads that share 8 keys, products of 8192.
LLAMA = dict(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_attention_heads=32, num_key_value_heads=8,
             tie_word_embeddings=True)


def llama(layers, seq=512):
    return causal("llama", seq, num_hidden_layers=layers, **LLAMA)


DECODERS = {
    # A decoder like GPT-OSS, four narrow layers: eight experts, of which each token asks two, a score that no token gets, 128 back.
    "gpt_oss": causal("gpt_oss", 512, vocab_size=50304, hidden_size=768, intermediate_size=768, num_hidden_layers=4,
                      num_attention_heads=12, num_key_value_heads=4, head_dim=64, num_local_experts=8, num_experts_per_tok=2,
                      sliding_window=128),
    # A decoder like Mamba 2, six narrow layers: states of 64 handed on from 128 positions to the next, in plain PyTorch.
    "mamba2": causal("mamba2", 512, vocab_size=50304, hidden_size=768, num_hidden_layers=6, num_heads=24, head_dim=64, state_size=64,
                     expand=2, n_groups=1, chunk_size=128),
    # A decoder like Gemma 3, six narrow layers: norms of heads and around both halves, every sixth layer sees all, the others 128 back.
    "gemma3": causal("gemma3_text", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                     num_attention_heads=8, num_key_value_heads=4, head_dim=128, sliding_window=128),
    # A decoder like GLM 4, six narrow layers: norms behind both halves too, half of each head turned, one product for both branches.
    "glm4": causal("glm4", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                   num_key_value_heads=4, head_dim=64, num_hidden_layers=6, pad_token_id=0),
    # A decoder like Apertus, six narrow layers: a learnt activation, norms of heads.
    "apertus": causal("apertus", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                      num_key_value_heads=4, num_hidden_layers=6, pad_token_id=0),
    # A decoder like Arcee's, six narrow layers: squared ReLU without a gate.
    "arcee": causal("arcee", 512, vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                    num_attention_heads=16, num_key_value_heads=4),
    # OPT 125M: a decoder with ReLU and learned positions.
    "opt": causal("opt", 256),
    # A decoder like Qwen2 0.5B, 12 of its 24 layers: 14 heads of 64 that share 2 keys, biases on queries and keys.
    "qwen2": causal("qwen2", 512, vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=12,
                    num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True),
    # A decoder like Pythia 70M: attention and MLP side by side, a quarter of each head rotated.
    "pythia": causal("gpt_neox", 512, vocab_size=50304, hidden_size=512, num_hidden_layers=6, num_attention_heads=8,
                     intermediate_size=2048),
    # A decoder like Gemma, six narrow layers: eight heads of 128 that share one key, gated GELU, an embedding that is scaled.
    "gemma": causal("gemma", 512, vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                    num_attention_heads=8, num_key_value_heads=1, head_dim=128),
    # A decoder like Qwen3, six narrow layers: 16 heads of 64 that share 4 keys, a norm of each head's queries and keys.
    "qwen3": causal("qwen3", 512, vocab_size=50304, hidden_size=1024, intermediate_size=3072, num_hidden_layers=6,
                    num_attention_heads=16, num_key_value_heads=4, head_dim=64),
    # A decoder like BLOOM, six layers of 1024: positions are a bias of the scores, which are products in memory.
    "bloom": causal("bloom", 256, vocab_size=50304, hidden_size=1024, n_layer=6, n_head=16),
    # A decoder like Falcon 7B, six narrow layers: 16 heads that share one key, attention and MLP side by side, no biases.
    "falcon": causal("falcon", 512, vocab_size=50304, hidden_size=1024, num_hidden_layers=6, num_attention_heads=16, multi_query=True,
                     parallel_attn=True, alibi=False, bias=False),
    # A decoder like Mixtral, six narrow layers: eight experts, of which each token asks two.
    "mixtral": causal("mixtral", 512, vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=6,
                      num_attention_heads=12, num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2),
    # A decoder like Phi 1, six narrow layers: attention and MLP side by side, half of each head rotated, biases.
    "phi": causal("phi", 512, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, num_attention_heads=16),
    # A decoder like DeepSeek V3, six narrow layers: keys and values from a narrow latent, sixteen experts and one for all.
    "deepseek": causal("deepseek_v3", 512, vocab_size=32000, hidden_size=768, intermediate_size=2048, moe_intermediate_size=512,
                       num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=12, n_shared_experts=1, n_routed_experts=16,
                       kv_lora_rank=256, q_lora_rank=384, qk_rope_head_dim=32, v_head_dim=64, qk_nope_head_dim=64, n_group=4,
                       topk_group=2, num_experts_per_tok=4, first_k_dense_replace=1),
    # A decoder like MPT, six narrow layers: distances added to the scores, no biases.
    "mpt": causal("mpt", 512, d_model=768, n_heads=12, n_layers=6, max_seq_len=512),
    # A decoder like GPT-Neo 125M: every second layer sees 256 positions back, scores in FP32.
    "gpt_neo": causal("gpt_neo", 512, hidden_size=768, num_layers=12, attention_types=[[["global", "local"], 6]], num_heads=12),
    # A decoder like StarCoder2, six narrow layers: twelve heads that share two keys, layer norms, biases, GELU.
    "starcoder2": causal("starcoder2", 512, hidden_size=1536, intermediate_size=6144, num_hidden_layers=6, num_attention_heads=12,
                         num_key_value_heads=2, sliding_window=None),
    # A decoder like Mistral, six narrow layers: 16 heads that share four keys, RMS norms, gated SiLU.
    "mistral": causal("mistral", 512, hidden_size=1536, intermediate_size=5376, num_hidden_layers=6, num_attention_heads=16,
                      num_key_value_heads=4, sliding_window=None),
    # A decoder like OLMo 2, six narrow layers: RMS norms behind attention and MLP, and of whole queries and keys.
    "olmo2": causal("olmo2", 512, vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                    num_attention_heads=16, num_key_value_heads=16),
    # A decoder like Gemma 2, six narrow layers: scores and logits bounded by tanh, every second layer sees 256 positions.
    "gemma2": causal("gemma2", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                     num_attention_heads=8, num_key_value_heads=4, head_dim=128, sliding_window=256),
    # Attention and MLP side by side, the first 32 columns of each head rotated in turn.
    "gptj": causal("gptj", 512, n_embd=1024, n_head=16, n_layer=6, rotary_dim=32),
    # The same, queries, keys and values in one product.
    "codegen": causal("codegen", 512, n_embd=1024, n_head=16, n_layer=6, rotary_dim=32),
    # Queries, keys and values in one product, and both halves of the gated MLP.
    "phi3": causal("phi3", 512, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=6,
                   num_key_value_heads=4),
    # Residuals, scores and logits that are scaled.
    "granite": causal("granite", 512, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=6,
                      num_key_value_heads=4),
    # Attention and MLP side by side behind one norm, logits scaled.
    "cohere": causal("cohere", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                     num_hidden_layers=6, num_key_value_heads=4),
    # A quarter of each head rotated, layer norms.
    "stablelm": causal("stablelm", 512, hidden_size=1024, intermediate_size=2816, num_attention_heads=16, num_hidden_layers=6,
                       num_key_value_heads=16),
    # Squared ReLU, layer norms of one more than their scale.
    "nemotron": causal("nemotron", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                       num_hidden_layers=6, num_key_value_heads=4),
    # Half of each head rotated in pairs, biases on queries and keys, both halves of the MLP in one product.
    "glm": causal("glm", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=6,
                  num_key_value_heads=2, head_dim=64, pad_token_id=0),
    # Positions rotate in three of four layers.
    "smollm3": causal("smollm3", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                      num_hidden_layers=8, num_key_value_heads=4, pad_token_id=0),
    # Squared ReLU, norms of each head's queries and keys, half of each head rotated.
    "persimmon": causal("persimmon", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                        num_hidden_layers=6),
    # Norms without parameters, all of each head rotated.
    "olmo": causal("olmo", 512, vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                   num_hidden_layers=6, num_key_value_heads=16),
    # Learned positions, layers of which each may be left out.
    "biogpt": causal("biogpt", 256, hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=8),
    # A decoder like XGLM, six layers: positions by sines, layer norms before, GELU, biases.
    "xglm": causal("xglm", 512, vocab_size=50304, d_model=768, ffn_dim=3072, num_layers=6, attention_heads=12, dropout=0.0,
                   attention_dropout=0.0),
    # A decoder like StarCoder 1, six narrow layers: twelve heads that share one key, learned positions.
    "gpt_bigcode": causal("gpt_bigcode", 512, vocab_size=50304, n_embd=768, n_layer=6, n_head=12, n_positions=512),
    # A decoder like Qwen1.5 MoE, six narrow layers: eight experts, of which each token asks two, and one for all behind a gate.
    "qwen2_moe": causal("qwen2_moe", 512, vocab_size=32000, hidden_size=768, intermediate_size=2048, moe_intermediate_size=512,
                        shared_expert_intermediate_size=1024, num_experts=8, num_experts_per_tok=2, num_hidden_layers=6,
                        num_attention_heads=12, num_key_value_heads=4),
    # A decoder like DiffLlama, six narrow layers: attention is the difference of two.
    "diffllama": causal("diffllama", 512, vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                        num_hidden_layers=6, num_key_value_heads=4),
    # A decoder like ERNIE 4.5, six narrow layers: 16 heads that share two keys, neighbours of a head rotated.
    "ernie4_5": causal("ernie4_5", 512, vocab_size=50304, hidden_size=1024, intermediate_size=3072, num_hidden_layers=6,
                       num_attention_heads=16, num_key_value_heads=2),
    # A decoder like Helium, six narrow layers: gated SiLU, RMS norms, heads of 128.
    "helium": causal("helium", 512, vocab_size=48000, hidden_size=1280, intermediate_size=3584, num_hidden_layers=6,
                     num_attention_heads=10, num_key_value_heads=10, head_dim=128),
    # A decoder like EXAONE 4, six narrow layers: norms behind attention and MLP, of queries and keys too, one layer of four sees all.
    "exaone4": causal("exaone4", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_hidden_layers=8,
                      num_attention_heads=16, num_key_value_heads=4, sliding_window=256),
    # A decoder like LFM2, eight narrow layers: gated short convolutions, attention in every third layer.
    "lfm2": causal("lfm2", 512, vocab_size=64000, hidden_size=1024, intermediate_size=3072, num_hidden_layers=8,
                   num_attention_heads=16, num_key_value_heads=4, full_attn_idxs=[2, 5, 7]),
    # A decoder like Command R7B, eight narrow layers: three of four see 128 positions back and rotate, layer norms, one for both halves.
    "cohere2": causal("cohere2", 512, vocab_size=64000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                      num_hidden_layers=8, num_key_value_heads=4, sliding_window=128),
    # A decoder like Seed-OSS, six narrow layers: biases on queries, keys and values.
    "seed_oss": causal("seed_oss", 512, vocab_size=64000, hidden_size=1024, intermediate_size=3584, num_attention_heads=16,
                       num_hidden_layers=6, num_key_value_heads=4, head_dim=64),
    # A decoder like BitNet, six narrow layers: squared ReLU behind a gate, a norm before each half's last product.
    "bitnet": causal("bitnet", 512, vocab_size=64000, hidden_size=1024, intermediate_size=2816, num_attention_heads=16,
                     num_hidden_layers=6, num_key_value_heads=4),
    # A decoder like Granite MoE, six narrow layers: eight experts, of which each token asks two.
    "granitemoe": causal("granitemoe", 512, vocab_size=49152, hidden_size=768, intermediate_size=768, num_attention_heads=12,
                         num_hidden_layers=6, num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2),
    # GPT, the first: norms behind both halves, learned positions.
    "openai_gpt": causal("openai-gpt", 512, n_embd=768, n_layer=8, n_head=12),
    # A decoder like OLMoE, six narrow layers: sixteen experts, of which each token asks four.
    "olmoe": causal("olmoe", 512, vocab_size=50304, hidden_size=768, intermediate_size=512, num_hidden_layers=6,
                    num_attention_heads=12, num_key_value_heads=12, num_experts=16, num_experts_per_tok=4),
}


class Generates(nn.Module):
    """A decoder that writes some words, each behind those that it has read and written, whose keys and values it keeps."""

    def __init__(self, model, words):
        super().__init__()
        self.model, self.words = model, words

    def forward(self, ids):
        return self.model.generate(ids, max_new_tokens=self.words, min_new_tokens=self.words, do_sample=False, pad_token_id=0)


def generates(kind, words=8):
    """One of DECODERS, which reads its sequence and writes words."""
    def builder(batch, device):
        load = DECODERS[kind](batch, device)
        load.model = Generates(load.model.model, words)
        return load
    return builder


def of_two_classes(model, vocab, batch, device, seq, first=0):
    """Sequences of words from number `first` on, each of one of two classes."""
    ids = torch.randint(first, vocab, (batch, seq), device=device)
    target = torch.randint(0, 2, (batch,), device=device)
    return Workload(model, (ids,), class_loss(target), ADAMW, {"seq": seq})


def xlnet(batch, device, seq=256):
    """XLNet base, six layers: scores of contents and of relative positions as einsums."""
    from transformers import XLNetConfig, XLNetForSequenceClassification
    config = XLNetConfig(d_model=768, n_layer=6, n_head=12, d_inner=3072)
    model = Logits(XLNetForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq)


def deberta(batch, device, seq=256):
    """DeBERTa V3, six layers: scores of contents and of relative positions, gathered from 512 of them."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification
    config = DebertaV2Config(vocab_size=50304, hidden_size=768, num_hidden_layers=6, num_attention_heads=12,
                             intermediate_size=3072, relative_attention=True, pos_att_type=["p2c", "c2p"],
                             position_buckets=256, share_att_key=True, norm_rel_ebd="layer_norm", max_relative_positions=-1)
    model = Logits(DebertaV2ForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq)


def albert(batch, device, seq=128):
    """ALBERT base: twelve times the same layer, an embedding of 128 columns."""
    from transformers import AlbertConfig, AlbertForSequenceClassification
    config = AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072)
    model = Logits(AlbertForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq)


def distilbert(batch, device, seq=256):
    """Six layers that classify a sequence."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification
    config = DistilBertConfig()
    model = Logits(DistilBertForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq)


class Translated(nn.Module):
    """A Hugging Face encoder and decoder that returns its scores only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source, target):
        return self.model(input_ids=source, decoder_input_ids=target, use_cache=False).logits


def translation(model, vocab, batch, device, seq):
    model = Translated(model).to(device)
    source, ids = (torch.randint(0, vocab, (batch, seq), device=device) for _ in range(2))
    return Workload(model, (source, ids), words_loss(vocab, ids), ADAMW, {"seq": seq})


def bart(batch, device, seq=128):
    """BART base: six layers that read, six that write, with learned positions."""
    from transformers import BartConfig, BartForConditionalGeneration
    config = BartConfig(d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
                        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072)
    return translation(BartForConditionalGeneration(config), config.vocab_size, batch, device, seq)


def t5(batch, device, seq=128):
    """T5 small: six layers that read, six that write."""
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config()
    return translation(T5ForConditionalGeneration(config), config.vocab_size, batch, device, seq)


class Recurrent(nn.Module):
    """Embedding, two recurrent layers, a linear layer over the vocabulary."""

    def __init__(self, cell, vocab, hidden, layers):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.rnn = cell(hidden, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, ids):
        out, _ = self.rnn(self.embed(ids))
        return self.head(out)


def recurrent(cell, seq=64, vocab=10000, hidden=1024, layers=2):
    def builder(batch, device):
        model = Recurrent(cell, vocab, hidden, layers).to(device)
        ids = torch.randint(0, vocab, (batch, seq), device=device)
        target = torch.randint(0, vocab, (batch * seq,), device=device)

        def loss(scores):
            return F.cross_entropy(scores.reshape(-1, vocab).float(), target)
        return Workload(model, (ids,), loss, SGD, {"seq": seq, "hidden": hidden})
    return builder


def modernbert(batch, device, seq=512):
    """ModernBERT, eight layers: every third sees all positions, the others 128; gated GELU, rotated heads."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM
    config = ModernBertConfig(num_hidden_layers=8)
    model = Logits(ModernBertForMaskedLM(config)).to(device)
    ids, target = (torch.randint(0, config.vocab_size, (batch, seq), device=device) for _ in range(2))
    return Workload(model, (ids,), words_loss(config.vocab_size, target), ADAMW, {"seq": seq})


def longformer(batch, device, seq=1024):
    """Longformer, six layers: each position sees 256 around it, as bands of overlapping pieces, and the first sees all."""
    from transformers import LongformerConfig, LongformerForSequenceClassification
    config = LongformerConfig(vocab_size=50304, num_hidden_layers=6, attention_window=256, max_position_embeddings=seq + 2, pad_token_id=1)
    model = Logits(LongformerForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq, first=2)


def classifier(kind, seq, **sizes):
    """A classifier of sequences of one of Transformers' kinds, with these sizes."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForSequenceClassification
        config = AutoConfig.for_model(kind, **sizes)
        model = Logits(AutoModelForSequenceClassification.from_config(config)).to(device)
        return of_two_classes(model, config.vocab_size, batch, device, seq, first=5)
    return builder


def reader_and_writer(kind, seq, **sizes):
    """An encoder and decoder of one of Transformers' kinds, with these sizes."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForSeq2SeqLM
        config = AutoConfig.for_model(kind, **sizes)
        return translation(AutoModelForSeq2SeqLM.from_config(config), config.vocab_size, batch, device, seq)
    return builder


def canine(batch, device, seq=512):
    """CANINE, six layers: letters hashed into vectors, read in pieces of 128 and, four at a time, as words."""
    from transformers import CanineConfig, CanineForSequenceClassification
    config = CanineConfig(num_hidden_layers=6, intermediate_size=3072)
    model = Logits(CanineForSequenceClassification(config)).to(device)
    return of_two_classes(model, 50000, batch, device, seq)


def roformer(batch, device, seq=256):
    """RoFormer, eight layers: an encoder whose queries and keys are rotated."""
    from transformers import RoFormerConfig, RoFormerForSequenceClassification
    config = RoFormerConfig(num_hidden_layers=8)
    model = Logits(RoFormerForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq)


def mobilebert(batch, device, seq=128):
    """MobileBERT, twelve layers: bottlenecks of 128 around attention, four feed-forward layers each, no norms but scales."""
    from transformers import MobileBertConfig, MobileBertForSequenceClassification
    config = MobileBertConfig(num_hidden_layers=12)
    model = Logits(MobileBertForSequenceClassification(config)).to(device)
    return of_two_classes(model, config.vocab_size, batch, device, seq)


def fnet(batch, device, seq=256):
    """FNet, eight layers: Fourier transforms in attention's place."""
    from transformers import FNetConfig, FNetForMaskedLM
    config = FNetConfig(num_hidden_layers=8)
    model = Logits(FNetForMaskedLM(config)).to(device)
    ids, target = (torch.randint(0, config.vocab_size, (batch, seq), device=device) for _ in range(2))
    return Workload(model, (ids,), words_loss(config.vocab_size, target), ADAMW, {"seq": seq})


class ItemsInTurn(nn.Module):
    """SASRec: what a user takes next, told from what was taken before."""

    def __init__(self, items, seq, width=128, layers=2):
        super().__init__()
        self.items = nn.Embedding(items, width)
        self.places = nn.Parameter(torch.zeros(1, seq, width))
        layer = nn.TransformerEncoderLayer(width, 2, width, 0.2, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.register_buffer("later", nn.Transformer.generate_square_subsequent_mask(seq))

    def forward(self, taken, right, wrong):
        x = self.norm(self.layers(self.items(taken) * 11.3 + self.places, mask=self.later, is_causal=True))
        return (x * self.items(right)).sum(-1), (x * self.items(wrong)).sum(-1)


def sasrec(batch, device, seq=200, items=50000):
    taken, right, wrong = (torch.randint(0, items, (batch, seq), device=device) for _ in range(3))

    def loss(scores):
        good, bad = scores
        return -(F.logsigmoid(good.float()) + F.logsigmoid(-bad.float())).mean()
    return Workload(ItemsInTurn(items, seq).to(device), (taken, right, wrong), loss, ADAMW, {"seq": seq})
