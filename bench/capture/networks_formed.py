"""Networks that compute otherwise by how they are run: values in bounds where the model is in FP16, masks that only a compiler has made,
attention in one call only where nothing is trained."""
import torch
from torch import nn

from networks_language import causal, translation
from networks_libraries import Applied, towards
from networks_read import Named, of_classes, random_pictures


class Attended(nn.Module):
    """Points `x` attend to points `y`, by nn.MultiheadAttention as it is by default, weights included."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.step = nn.Sequential(nn.Linear(width, width), nn.ReLU())

    def forward(self, x, y):
        x = self.norm(x + self.attention(x, y, y)[0])
        return self.last(x + self.step(x))


class SetPools(nn.Module):
    """A set transformer: points and a few places that are learned attend to each other, four times, then one seed to all."""

    def __init__(self, inputs=8, width=256, heads=8, places=50, layers=4, classes=40):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.places = nn.ParameterList(torch.randn(1, places, width) for _ in range(layers))
        self.gather = nn.ModuleList(Attended(width, heads) for _ in range(layers))
        self.spread = nn.ModuleList(Attended(width, heads) for _ in range(layers))
        self.seed = nn.Parameter(torch.randn(1, 1, width))
        self.pool = Attended(width, heads)
        self.head = nn.Linear(width, classes)

    def forward(self, points):
        x = self.first(points)
        for places, gather, spread in zip(self.places, self.gather, self.spread):
            x = spread(x, gather(places.expand(len(x), -1, -1), x))
        return self.head(self.pool(self.seed.expand(len(x), -1, -1), x)[:, 0])


def set_pools(batch, device, points=1000):
    return of_classes(SetPools(), (torch.randn(batch, points, 8, device=device),), 40)


def mbart(batch, device, seq=160):
    """mBART, six layers that read, six that write."""
    from transformers import MBartConfig, MBartForConditionalGeneration
    config = MBartConfig(vocab_size=50304, d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
                         decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, use_cache=False)
    return translation(MBartForConditionalGeneration(config), config.vocab_size, batch, device, seq)


def pictures_in_patches(kind, **sizes):
    """An encoder of pictures of one of Transformers' kinds: the first place of its last layer."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModel
        config = AutoConfig.for_model(kind, **sizes)
        model = Applied(AutoModel.from_config(config), lambda out: out.last_hidden_state[:, 0])
        return towards(model, (random_pictures(batch, device, config.image_size),), (batch, config.hidden_size))
    return builder


def layoutlmv3(batch, device, seq=128):
    """LayoutLMv3, six layers: words with their boxes and patches of a page, scores of both kinds of places."""
    from transformers import LayoutLMv3Config, LayoutLMv3Model
    config = LayoutLMv3Config(num_hidden_layers=6)
    model = Named(LayoutLMv3Model(config), ("input_ids", "bbox", "pixel_values"), lambda out: out.last_hidden_state[:, 0]).to(device)
    ids = torch.randint(3, config.vocab_size, (batch, seq), device=device)
    boxes = torch.randint(0, 500, (batch, seq, 4), device=device)
    boxes = torch.cat((boxes[..., :2], boxes[..., :2] + boxes[..., 2:]), -1)
    return towards(model, (ids, boxes, random_pictures(batch, device)), (batch, config.hidden_size))


def sam_pictures(batch, device, size=512):
    """The encoder of pictures of SAM, eight layers: windows of 14, every fourth layer sees all, scores of places in both directions."""
    from transformers import SamVisionConfig, SamVisionModel
    config = SamVisionConfig(hidden_size=768, num_hidden_layers=8, num_attention_heads=12, image_size=size,
                             global_attn_indexes=[3, 7], mlp_dim=3072)
    model = Applied(SamVisionModel(config), lambda out: out.last_hidden_state)
    return towards(model, (random_pictures(batch, device, size),), (batch, config.output_channels, size // 16, size // 16))


FORMED = {
    "set_pools": set_pools, "mbart": mbart, "layoutlmv3": layoutlmv3, "sam_pictures": sam_pictures,
    # ViT small as Transformers has it, twelve layers.
    "vit_msn": pictures_in_patches("vit_msn", hidden_size=384, num_attention_heads=6, intermediate_size=1536),
    # DeiT, eight layers of 768: one place more.
    "deit": pictures_in_patches("deit", num_hidden_layers=8),
    # BEiT, eight layers of 768: scores of relative places.
    "beit": pictures_in_patches("beit", num_hidden_layers=8, use_relative_position_bias=True),
    # A decoder like DeepSeek V3, three narrow layers: keys of a narrow code, eight experts in groups, one that sees all words.
    "deepseek_v3": causal("deepseek_v3", 512, vocab_size=50304, hidden_size=768, intermediate_size=2048, moe_intermediate_size=512,
                          num_hidden_layers=3, num_attention_heads=12, num_key_value_heads=12, n_shared_experts=1, n_routed_experts=8,
                          num_experts_per_tok=2, n_group=2, topk_group=1, q_lora_rank=384, kv_lora_rank=256, qk_rope_head_dim=32,
                          qk_nope_head_dim=64, v_head_dim=64, first_k_dense_replace=1),
}
