"""Networks that many people run and no other set holds: encoders of pictures that are given alone, pictures before words, codes of
pictures, series told by what is known of them."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_formed import pictures_in_patches
from networks_language import causal
from networks_libraries import towards
from networks_read import Named, random_pictures
from workload import ADAMW, Workload


def llava(batch, device, words=96, size=224):
    """LLaVA, small: patches of a picture, seen by six layers of CLIP, stand before the words of a decoder of six layers."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration
    vocab, image = 32064, 32000
    seen = CLIPVisionConfig(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8, patch_size=16,
                            image_size=size, projection_dim=512)
    told = LlamaConfig(vocab_size=vocab, hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16,
                       num_key_value_heads=16, use_cache=False)
    config = LlavaConfig(vision_config=seen, text_config=told, image_token_index=image, vision_feature_layer=-1)
    config.use_cache = False
    patches = (size // 16) ** 2
    model = Named(LlavaForConditionalGeneration(config), ("input_ids", "pixel_values")).to(device)
    ids = torch.randint(0, 31999, (batch, patches + words), device=device)
    ids[:, 1:patches + 1] = image
    target = ids[:, patches + 1:].reshape(-1)

    def loss(scores):
        return F.cross_entropy(scores[:, patches:-1].reshape(-1, scores.shape[-1]).float(), target)
    return Workload(model, (ids, random_pictures(batch, device, size)), loss, ADAMW, {"seq": patches + words})


class CodedPictures(nn.Module):
    """A VQ-VAE: pictures into 32 x 32 of 512 codes and back; the gradient passes the codes by."""

    def __init__(self, width=128, codes=512, depth=2):
        super().__init__()
        def block():
            return nn.Sequential(nn.ReLU(), nn.Conv2d(width, width // 4, 3, padding=1), nn.ReLU(), nn.Conv2d(width // 4, width, 1))
        self.down = nn.Sequential(nn.Conv2d(3, width // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(width // 2, width, 4, 2, 1))
        self.before = nn.ModuleList(block() for _ in range(depth))
        self.codes = nn.Embedding(codes, width)
        self.after = nn.ModuleList(block() for _ in range(depth))
        self.up = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(width, width // 2, 4, 2, 1), nn.ReLU(),
                                nn.ConvTranspose2d(width // 2, 3, 4, 2, 1))

    def forward(self, x):
        x = self.down(x)
        for block in self.before:
            x = x + block(x)
        flat = x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])
        far = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.weight.t() + self.codes.weight.pow(2).sum(1)
        kept = self.codes(far.argmin(1)).view(x.shape[0], x.shape[2], x.shape[3], -1).permute(0, 3, 1, 2)
        x = x + (kept - x).detach()
        for block in self.after:
            x = x + block(x)
        return self.up(x)


def coded_pictures(batch, device, size=128):
    return towards(CodedPictures(), (torch.randn(batch, 3, size, size, device=device),), (batch, 3, size, size))


class Generator(nn.Module):
    """The generator of a DCGAN: noise into pictures of 64 by transposed convolutions and batch norms."""

    def __init__(self, noise=100, width=64):
        super().__init__()
        widths = (noise, 8 * width, 4 * width, 2 * width, width)
        layers = []
        for i, (before, after) in enumerate(zip(widths, widths[1:])):
            layers += [nn.ConvTranspose2d(before, after, 4, 2 if i else 1, 1 if i else 0, bias=False), nn.BatchNorm2d(after), nn.ReLU(True)]
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, noise):
        return self.layers(noise)


def generator(batch, device):
    return towards(Generator(), (torch.randn(batch, 100, 1, 1, device=device),), (batch, 3, 64, 64))


class Gated(nn.Module):
    """A gated residual network: two layers, a gate, a norm."""

    def __init__(self, inputs, width, outputs=None):
        super().__init__()
        outputs = outputs or width
        self.skip = nn.Linear(inputs, outputs) if inputs != outputs else nn.Identity()
        self.first, self.second = nn.Linear(inputs, width), nn.Linear(width, width)
        self.gate, self.norm = nn.Linear(width, 2 * outputs), nn.LayerNorm(outputs)

    def forward(self, x):
        h = F.dropout(self.second(F.elu(self.first(x))), 0.1, self.training)
        return self.norm(self.skip(x) + F.glu(self.gate(h)))


class FusedSeries(nn.Module):
    """A temporal fusion transformer: what is known of a series is weighed by how much it tells, an LSTM reads it, attention looks back."""

    def __init__(self, columns=8, width=128, heads=4, ahead=24, quantiles=3):
        super().__init__()
        self.ahead = ahead
        self.columns = nn.ModuleList(nn.Linear(1, width) for _ in range(columns))
        self.each = nn.ModuleList(Gated(width, width) for _ in range(columns))
        self.weigh = Gated(columns * width, width, columns)
        self.past, self.future = nn.LSTM(width, width, batch_first=True), nn.LSTM(width, width, batch_first=True)
        self.join, self.attention = Gated(width, width), nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm, self.step, self.head = nn.LayerNorm(width), Gated(width, width), nn.Linear(width, quantiles)

    def forward(self, x):
        columns = [layer(x[..., i:i + 1]) for i, layer in enumerate(self.columns)]
        weights = self.weigh(torch.cat(columns, -1)).softmax(-1)
        x = (torch.stack([step(c) for step, c in zip(self.each, columns)], -1) * weights.unsqueeze(-2)).sum(-1)
        past, state = self.past(x[:, :-self.ahead])
        future, _ = self.future(x[:, -self.ahead:], state)
        x = self.join(torch.cat([past, future], 1))
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        seen, _ = self.attention(x, x, x, attn_mask=mask)
        return self.head(self.step(self.norm(x + seen)))[:, -self.ahead:]


def fused_series(batch, device, length=192, ahead=24):
    return towards(FusedSeries(ahead=ahead), (torch.randn(batch, length, 8, device=device),), (batch, ahead, 3))


USUAL = {
    "llava": llava, "coded_pictures": coded_pictures, "generator": generator, "fused_series": fused_series,
    # ViT base as Transformers has it, eight layers.
    "vit": pictures_in_patches("vit", num_hidden_layers=8),
    # The encoders of pictures of CLIP and of SigLIP, alone: patches of 32 and of 16.
    "clip_pictures": pictures_in_patches("clip_vision_model", num_hidden_layers=8),
    "siglip_pictures": pictures_in_patches("siglip_vision_model", hidden_size=512, intermediate_size=2048, num_attention_heads=8,
                                           num_hidden_layers=8),
    # Swin tiny as Transformers has it: windows whose scores have learned places.
    "swin_pages": pictures_in_patches("swin"),
    # A decoder like Qwen3 Next, four narrow layers: three of four hand a state on, one attends; eight experts and one for all.
    "qwen3_next": causal("qwen3_next", 512, vocab_size=50304, hidden_size=768, intermediate_size=2048, num_hidden_layers=4,
                         num_attention_heads=12, num_key_value_heads=4, head_dim=64, linear_num_key_heads=6, linear_num_value_heads=12,
                         linear_key_head_dim=64, linear_value_head_dim=64, num_experts=8, num_experts_per_tok=2,
                         moe_intermediate_size=512, shared_expert_intermediate_size=512),
}
