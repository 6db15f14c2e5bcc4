"""Networks that ask for FP32 in the middle of a model of 16 bits, as most decoders of Transformers do, and layers of attention of
PyTorch itself as people call them first: with weights of attention, with ReLU."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_answers import random_words
from networks_language import causal, of_two_classes
from networks_libraries import Applied, towards
from networks_read import Named, of_classes, random_pictures
from workload import ADAMW, Hidden, Workload


class WeighedBlock(nn.Module):
    """A layer around nn.MultiheadAttention that lets it make the weights of attention, its default, and drops them."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
        self.step = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y)[0]
        return x + self.step(self.behind(x))


class WeighedPatches(nn.Module):
    """Patches of a picture, eight layers, the first place to classes."""

    def __init__(self, width=512, layers=8, size=192, patch=16, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*(WeighedBlock(width, 8) for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, pictures):
        x = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(len(x), -1, -1), x), 1) + self.places
        return self.head(self.layers(x)[:, 0])


def weighed(batch, device):
    return of_classes(WeighedPatches(), (random_pictures(batch, device, 192),), 1000)


class SeriesEncoder(nn.Module):
    """A series of numbers through nn.TransformerEncoder as it is by default, but for the order of dimensions; to a class."""

    def __init__(self, inputs=16, width=256, layers=6, seq=384, classes=2):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.places = nn.Parameter(0.02 * torch.randn(seq, width))
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 8, batch_first=True), layers)
        self.head = nn.Linear(width, classes)

    def forward(self, series):
        return self.head(self.layers(self.first(series) + self.places).amax(1))


def series_encoder(batch, device):
    return of_classes(SeriesEncoder(), (torch.randn(batch, 384, 16, device=device),), 2)


def umt5(batch, device, read=192, written=96):
    """UMT5, six layers a side: RMS norms in FP32, scores of places of each layer's own."""
    from transformers import UMT5Config, UMT5ForConditionalGeneration
    config = UMT5Config(vocab_size=50304, d_model=768, d_kv=64, d_ff=2048, num_layers=6, num_heads=12, use_cache=False)
    model = Named(UMT5ForConditionalGeneration(config), ("input_ids", "decoder_input_ids")).to(device)
    ids, words = (random_words(config.vocab_size, batch, length, device) for length in (read, written))
    target = random_words(config.vocab_size, batch, written, device)

    def loss(scores):
        return F.cross_entropy(scores.flatten(0, 1).float(), target.flatten())
    return Workload(model, (ids, words), loss, ADAMW, {"seq": read})


def aimv2(batch, device):
    """AIMv2, eight layers: RMS norms, gated products, 256 patches."""
    from transformers import Aimv2VisionConfig, Aimv2VisionModel
    config = Aimv2VisionConfig(hidden_size=768, intermediate_size=2048, num_hidden_layers=8, num_attention_heads=12, image_size=224,
                               patch_size=14)
    model = Applied(Aimv2VisionModel(config), lambda out: out.pooler_output)
    return towards(model, (random_pictures(batch, device),), (batch, config.hidden_size))


def dinov2_with_registers(batch, device, size=224):
    """DINOv2 small with four registers, twelve layers."""
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel
    config = Dinov2WithRegistersConfig(hidden_size=384, num_attention_heads=6, image_size=size)
    model = Applied(Dinov2WithRegistersModel(config), lambda out: out.last_hidden_state[:, 0])
    return towards(model, (random_pictures(batch, device, size),), (batch, config.hidden_size))


def clipseg(batch, device, size=224):
    """CLIPSeg, eight layers of pictures: what of a picture a text asks for, from three of its layers."""
    from transformers import CLIPSegConfig, CLIPSegForImageSegmentation
    text = dict(num_hidden_layers=6, max_position_embeddings=77)
    vision = dict(num_hidden_layers=8, image_size=size, patch_size=16)
    config = CLIPSegConfig(text_config=text, vision_config=vision, extract_layers=[2, 4, 6])
    model = Named(CLIPSegForImageSegmentation(config), ("input_ids", "pixel_values")).to(device)
    ids = random_words(config.text_config.vocab_size, batch, 77, device)
    return towards(model, (ids, random_pictures(batch, device, size)), (batch, size, size))


def timesfm(batch, device, series=512):
    """TimesFM, six layers: patches of a series, norms in FP32, a mask of its own."""
    from transformers import TimesFmConfig, TimesFmModel
    config = TimesFmConfig(num_hidden_layers=6, hidden_size=768, intermediate_size=768, head_dim=64, num_attention_heads=12,
                           context_length=series)
    model = Named(TimesFmModel(config), ("past_values", "past_values_padding", "freq"), lambda out: out.last_hidden_state).to(device)
    past = torch.randn(batch, series, device=device)
    padding = torch.zeros(batch, series, dtype=torch.long, device=device)
    freq = torch.zeros(batch, 1, dtype=torch.long, device=device)
    return towards(model, (past, padding, freq), (batch, series // config.patch_length, config.hidden_size))


def modern_classes(batch, device, seq=384):
    """EuroBERT, eight layers: a decoder's layers that look both ways, the first place to a class."""
    from transformers import EuroBertConfig, EuroBertModel
    config = EuroBertConfig(vocab_size=50304, hidden_size=768, intermediate_size=3072, num_hidden_layers=8, num_attention_heads=12,
                            num_key_value_heads=12, bos_token_id=1, eos_token_id=2, mask_token_id=3, pad_token_id=0)
    return of_two_classes(Hidden(EuroBertModel(config)).to(device), config.vocab_size, batch, device, seq)


ASKED = {
    "weighed": weighed, "series_encoder": series_encoder, "umt5": umt5, "aimv2": aimv2,
    "dinov2_with_registers": dinov2_with_registers, "clipseg": clipseg, "timesfm": timesfm, "eurobert": modern_classes,
    # A decoder like nanochat's, eight narrow layers: norms without weights, also of queries and keys, squares of ReLUs.
    "nanochat": causal("nanochat", 512, vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_hidden_layers=8,
                       num_attention_heads=8, num_key_value_heads=8),
    # A decoder like Hunyuan 1.8B, six narrow layers: norms of heads behind the rotation.
    "hunyuan_v1_dense": causal("hunyuan_v1_dense", 512, vocab_size=50304, hidden_size=1024, intermediate_size=3072, num_hidden_layers=6,
                               num_attention_heads=16, num_key_value_heads=4, head_dim=64),
    # A decoder like VaultGemma 1B, six narrow layers: every second one sees 256 positions back, scores in bounds of a tanh.
    "vaultgemma": causal("vaultgemma", 512, vocab_size=50304, hidden_size=768, intermediate_size=4096, num_hidden_layers=6,
                         num_attention_heads=6, num_key_value_heads=6, head_dim=128, sliding_window=256),
    # A decoder like MiniCPM3 4B, six narrow layers: keys and values of one narrow code, half of each head turned by its place.
    "minicpm3": causal("minicpm3", 512, vocab_size=50304, hidden_size=1024, intermediate_size=2560, num_hidden_layers=6,
                       num_attention_heads=16, num_key_value_heads=16, q_lora_rank=384, kv_lora_rank=256, qk_nope_head_dim=64,
                       qk_rope_head_dim=32, v_head_dim=64),
    # A decoder like Ministral 3, six narrow layers.
    "ministral": causal("ministral", 512, vocab_size=50304, hidden_size=1024, intermediate_size=3072, num_hidden_layers=6,
                        num_attention_heads=16, num_key_value_heads=4, head_dim=64),
}
