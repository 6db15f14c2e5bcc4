"""Networks of Transformers that no other list holds: readers of pages and of pictures with words, states and experts in decoders,
forms with places, several words told at once, depths in bins, returns and actions, series told by a distribution."""
import torch
from torch import nn

from networks_answers import random_words, writes
from networks_labelled import labelled, next_words, read_aloud
from networks_libraries import Applied, towards
from networks_read import Named, of_classes, random_pictures
from networks_varied import word_loss
from workload import ADAMW, Workload, class_loss


def pictures_and_questions(batch, device, seq=64, size=224):
    """InternVL, small: six layers of a ViT of 512, a quarter of its places as words for six layers of Qwen2 of 768."""
    from transformers import InternVLConfig, InternVLForConditionalGeneration, InternVLVisionConfig, Qwen2Config
    vision = InternVLVisionConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048,
                                  image_size=[size, size], patch_size=[14, 14])
    text = Qwen2Config(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12,
                       num_key_value_heads=4, use_cache=False)
    seen = (size // 28) ** 2
    config = InternVLConfig(vision_config=vision, text_config=text, image_token_id=31999, image_seq_length=seen)
    ids = random_words(31000, batch, seen + seq, device)
    ids[:, :seen] = 31999
    return labelled(InternVLForConditionalGeneration(config),
                    {"input_ids": ids, "pixel_values": random_pictures(batch, device, size), "labels": ids}, {"seq": seen + seq})


def printed_pages(batch, device, seq=64, size=256):
    """Donut: a Swin of windows of 8 sees a page, four layers of MBart write down what it says."""
    from transformers import DonutSwinConfig, DonutSwinModel, MBartConfig, MBartForCausalLM
    seen = DonutSwinConfig(image_size=size, window_size=8, embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24])
    told = MBartConfig(vocab_size=50304, d_model=768, decoder_layers=4, decoder_attention_heads=12, decoder_ffn_dim=3072,
                       is_decoder=True, add_cross_attention=True, is_encoder_decoder=False, use_cache=False)
    return read_aloud(DonutSwinModel(seen, add_pooling_layer=False), MBartForCausalLM(told), random_pictures(batch, device, size), seq)


def filled_forms(batch, device, seq=256):
    """LiLT, eight layers: words, and where they stand, each with attention of its own whose scores are added."""
    from transformers import LiltConfig, LiltForTokenClassification
    config = LiltConfig(num_hidden_layers=8, num_labels=13)
    corners = torch.randint(0, 500, (batch, seq, 2), device=device)
    boxes = torch.cat([corners, corners + torch.randint(1, 400, (batch, seq, 2), device=device)], -1)
    return labelled(LiltForTokenClassification(config),
                    {"input_ids": random_words(30000, batch, seq, device), "bbox": boxes,
                     "labels": torch.randint(0, 13, (batch, seq), device=device)}, {"seq": seq})


def words_at_once(batch, device, read=128, written=64):
    """ProphetNet: six layers read, four write two words at a time, each with attention of its own."""
    from transformers import ProphetNetConfig, ProphetNetForConditionalGeneration
    config = ProphetNetConfig(vocab_size=30522, hidden_size=512, encoder_ffn_dim=2048, num_encoder_layers=6,
                              num_encoder_attention_heads=8, decoder_ffn_dim=2048, num_decoder_layers=4,
                              num_decoder_attention_heads=8, use_cache=False)
    return writes(ProphetNetForConditionalGeneration(config), "input_ids", random_words(30000, batch, read, device), 30522,
                  (batch, written))


def depths_in_bins(batch, device, size=256):
    """ZoeDepth: six layers of BEiT of 384, its stages put together, depths told by bins that attract each other."""
    from transformers import BeitConfig, ZoeDepthConfig, ZoeDepthForDepthEstimation
    backbone = BeitConfig(image_size=size, hidden_size=384, num_hidden_layers=8, num_attention_heads=6, intermediate_size=1536,
                          use_relative_position_bias=True, reshape_hidden_states=False, add_fpn=False,
                          out_features=["stage2", "stage4", "stage6", "stage8"])
    config = ZoeDepthConfig(backbone_config=backbone, backbone_hidden_size=384, neck_hidden_sizes=[96, 192, 384, 384],
                            fusion_hidden_size=128, bottleneck_features=128)
    model = Applied(ZoeDepthForDepthEstimation(config), lambda out: out.predicted_depth)
    return towards(model, (random_pictures(batch, device, size),), (batch, size, size))


def returns_and_actions(batch, device, steps=64):
    """A Decision Transformer, six layers of 256: returns, states and actions in turn, the next action drawn towards random ones."""
    from transformers import DecisionTransformerConfig, DecisionTransformerModel
    config = DecisionTransformerConfig(state_dim=17, act_dim=6, hidden_size=256, n_layer=6, n_head=4, max_ep_len=1000)
    names = "states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"
    draw = lambda width: torch.randn(batch, steps, width, device=device)
    inputs = (draw(17), draw(6), draw(1), draw(1), torch.arange(steps, device=device).expand(batch, steps).contiguous(),
              torch.ones(batch, steps, dtype=torch.int64, device=device))
    return towards(Named(DecisionTransformerModel(config), names, lambda out: out.action_preds), inputs, (batch, steps, 6))


def series_by_distribution(batch, device, context=96, ahead=24):
    """A transformer for series, four layers of 128: past values and times; the loss is that of Student's distribution."""
    from transformers import TimeSeriesTransformerConfig, TimeSeriesTransformerForPrediction
    lags = [1, 2, 3, 4, 5, 6, 7]
    config = TimeSeriesTransformerConfig(prediction_length=ahead, context_length=context, lags_sequence=lags, num_time_features=4,
                                         d_model=128, encoder_layers=4, decoder_layers=4, encoder_attention_heads=4,
                                         decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512)
    past = context + max(lags)
    draw = lambda *shape: torch.randn(batch, *shape, device=device)
    return labelled(TimeSeriesTransformerForPrediction(config),
                    {"past_values": draw(past), "past_time_features": draw(past, 4), "past_observed_mask": torch.ones_like(draw(past)),
                     "future_values": draw(ahead), "future_time_features": draw(ahead, 4)}, {"seq": context})


def self_taught_convolutions(batch, device, size=224):
    """A ConvNeXt of DINOv3, small, to a thousand classes."""
    from transformers import DINOv3ConvNextConfig, DINOv3ConvNextModel
    config = DINOv3ConvNextConfig(hidden_sizes=[80, 160, 320, 640], depths=[2, 2, 6, 2], image_size=size)
    model = nn.Sequential(Applied(DINOv3ConvNextModel(config), lambda out: out.pooler_output), nn.Linear(640, 1000))
    return of_classes(model, (random_pictures(batch, device, size),), 1000)


def pictures_by_chinese(batch, device, seq=52, size=224):
    """Chinese CLIP, small: six layers of BERT of 512 for words, six of a ViT of 512 for pictures, matched by their angle."""
    from transformers import ChineseCLIPConfig, ChineseCLIPModel
    text = {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048}
    config = ChineseCLIPConfig(text_config=text, vision_config=dict(text, image_size=size, patch_size=16))
    model = Named(ChineseCLIPModel(config), ("input_ids", "pixel_values"), lambda out: out.logits_per_text)
    inputs = random_words(21000, batch, seq, device), random_pictures(batch, device, size)
    return Workload(model.to(device), inputs, class_loss(torch.arange(batch, device=device)), ADAMW, {"seq": seq})


def narrowing_patches(batch, device, size=224):
    """PVT: patches of four sizes in turn, attention to keys that a strided layer makes fewer."""
    from transformers import PvtConfig, PvtForImageClassification
    model = Named(PvtForImageClassification(PvtConfig(num_labels=1000, image_size=size)), ("pixel_values",))
    return of_classes(model, (random_pictures(batch, device, size),), 1000)


def causal_words(kind, seq, **sizes):
    """A decoder whose loss stands outside of it."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForCausalLM
        config = AutoConfig.for_model(kind, use_cache=False, **sizes)
        ids = random_words(min(config.vocab_size, 30000), batch, seq, device)
        model = Named(AutoModelForCausalLM.from_config(config), ("input_ids",)).to(device)
        return Workload(model, (ids,), word_loss(ids), ADAMW, {"seq": seq})
    return builder


FURTHER = {
    "pictures_and_questions": pictures_and_questions, "printed_pages": printed_pages, "filled_forms": filled_forms,
    "words_at_once": words_at_once, "depths_in_bins": depths_in_bins,
    "returns_and_actions": returns_and_actions, "series_by_distribution": series_by_distribution,
    "self_taught_convolutions": self_taught_convolutions, "pictures_by_chinese": pictures_by_chinese,
    "narrowing_patches": narrowing_patches,
    # Bamba: two layers of Mamba 2 to one of attention, without their kernels.
    "bamba": causal_words("bamba", 512, vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=6,
                          num_attention_heads=12, num_key_value_heads=4, attn_layer_indices=[2, 5], mamba_n_heads=24,
                          mamba_d_head=64, mamba_d_state=64, mamba_chunk_size=128),
    "phimoe": next_words("phimoe", 512, vocab_size=32064, hidden_size=768, intermediate_size=1536, num_hidden_layers=4,
                         num_attention_heads=12, num_key_value_heads=4, num_local_experts=8),
    "jetmoe": causal_words("jetmoe", 512, vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=4,
                           num_key_value_heads=6, kv_channels=64, num_local_experts=8, num_experts_per_tok=2),
}
