"""Networks of Transformers that no other set holds: pages and pictures put into words, pictures and words side by side, boxes from
points that are sampled, windows of pictures, series taken apart, sound, actions."""
import torch
import torch.nn.functional as F

from networks_answers import random_words
from networks_libraries import Applied, towards
from networks_read import Named, random_pictures
from workload import ADAMW, Workload, class_loss


def word_loss(target):
    """As words_loss, of scores that may be a slice of others."""
    return lambda scores: F.cross_entropy(scores.reshape(-1, scores.shape[-1]).float(), target.reshape(-1))


def window_patches(batch, device, size=256):
    """ViTDet: eight blocks of 384 on 16 x 16 patches, windows of 8 with places that are added, two blocks over all of them."""
    from transformers import VitDetConfig, VitDetModel
    config = VitDetConfig(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, image_size=size, pretrain_image_size=size,
                          window_size=8, window_block_indices=[0, 1, 2, 4, 5, 6], use_relative_position_embeddings=True)
    model = Applied(VitDetModel(config), lambda out: out.last_hidden_state)
    return towards(model, (random_pictures(batch, device, size),), (batch, 384, size // 16, size // 16))


def pages_read(batch, device, patches=512, seq=64):
    """Pix2Struct: pages as flattened patches with their rows and columns, then words; six and six layers of 512."""
    from transformers import Pix2StructConfig, Pix2StructForConditionalGeneration, Pix2StructTextConfig, Pix2StructVisionConfig
    shared = {"hidden_size": 512, "d_ff": 1024, "d_kv": 64}
    text = Pix2StructTextConfig(vocab_size=32000, num_layers=6, num_heads=8, use_cache=False, **shared)
    vision = Pix2StructVisionConfig(num_hidden_layers=6, num_attention_heads=8, **shared)
    config = Pix2StructConfig(text_config=text.to_dict(), vision_config=vision.to_dict())
    model = Named(Pix2StructForConditionalGeneration(config), ("flattened_patches", "decoder_input_ids")).to(device)
    flat = torch.rand(batch, patches, 2 + 768, device=device)
    flat[..., :2] = torch.arange(patches, device=device)[:, None].expand(-1, 2) // 24 + 1
    ids = random_words(32000, batch, seq, device)
    return Workload(model, (flat, ids), word_loss(random_words(32000, batch, seq, device)), ADAMW, {"seq": seq})


def captions(batch, device, seq=48, size=224):
    """GIT: 197 places of a picture before words, six layers of 512 over both."""
    from transformers import GitConfig, GitForCausalLM
    vision = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8, "patch_size": 16,
              "image_size": size}
    config = GitConfig(vision_config=vision, vocab_size=30522, hidden_size=512, num_hidden_layers=6, num_attention_heads=8,
                       intermediate_size=2048, use_cache=False)
    model = Named(GitForCausalLM(config), ("input_ids", "pixel_values"), lambda out: out.logits[:, -seq:]).to(device)
    inputs = random_words(30522, batch, seq, device), random_pictures(batch, device, size)
    return Workload(model, inputs, word_loss(random_words(30522, batch, seq, device)), ADAMW, {"seq": seq})


def sampled_boxes(batch, device, size=256):
    """Deformable DETR on ResNet-50: points of four sizes of maps are sampled; three and three layers of 256, 100 queries."""
    from transformers import DeformableDetrConfig, DeformableDetrForObjectDetection, ResNetConfig
    backbone = ResNetConfig(out_features=["stage2", "stage3", "stage4"])
    config = DeformableDetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone,
                                  num_queries=100, encoder_layers=3, decoder_layers=3, disable_custom_kernels=True)
    model = Applied(DeformableDetrForObjectDetection(config), lambda out: torch.cat([out.logits, out.pred_boxes], -1))
    return towards(model, (random_pictures(batch, device, size),), (batch, 100, config.num_labels + 4))


def sounds_conformed(batch, device, samples=48000):
    """Wav2Vec2-Conformer: six blocks of 512 that attend by relative places and convolve."""
    from transformers import Wav2Vec2ConformerConfig, Wav2Vec2ConformerModel
    config = Wav2Vec2ConformerConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048,
                                     layerdrop=0.0, apply_spec_augment=False)
    model = Applied(Wav2Vec2ConformerModel(config), lambda out: out.last_hidden_state.mean(1))
    return towards(model, (torch.randn(batch, samples, device=device),), (batch, 512))


def series_taken_apart(batch, device, length=96, ahead=48, columns=7):
    """Autoformer: trends are taken off, series attend to themselves by their spectrum; two and two layers of 256."""
    from transformers import AutoformerConfig, AutoformerModel
    config = AutoformerConfig(prediction_length=ahead, context_length=length, input_size=columns, num_time_features=4,
                              lags_sequence=[1, 2, 3], d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8,
                              decoder_attention_heads=8, encoder_ffn_dim=1024, decoder_ffn_dim=1024, scaling="std", use_cache=False)
    names = ("past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features")
    model = Named(AutoformerModel(config), names, lambda out: out.last_hidden_state)
    past = length + max(config.lags_sequence)
    inputs = (torch.randn(batch, past, columns, device=device), torch.randn(batch, past, 4, device=device),
              torch.ones(batch, past, columns, device=device), torch.randn(batch, ahead, columns, device=device),
              torch.randn(batch, ahead, 4, device=device))
    rows = config.label_length + ahead
    return towards(model, inputs, (batch, rows, config.feature_size))


def actions(batch, device, steps=64):
    """Decision Transformer: returns, states and actions in turn through six layers of 512."""
    from transformers import DecisionTransformerConfig, DecisionTransformerModel
    config = DecisionTransformerConfig(state_dim=17, act_dim=6, hidden_size=512, n_layer=6, n_head=8, max_ep_len=1000,
                                       use_cache=False)
    names = ("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask")
    model = Named(DecisionTransformerModel(config), names, lambda out: out.action_preds)
    inputs = (torch.randn(batch, steps, 17, device=device), torch.randn(batch, steps, 6, device=device),
              torch.randn(batch, steps, 1, device=device), torch.randn(batch, steps, 1, device=device),
              torch.arange(steps, device=device).expand(batch, steps), torch.ones(batch, steps, device=device))
    return towards(model, inputs, (batch, steps, 6))


def named_things(batch, device, queries=8, size=256):
    """OWL-ViT: boxes of things that words name; six layers for pictures and six for words."""
    from transformers import OwlViTConfig, OwlViTForObjectDetection
    vision = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8, "image_size": size,
              "patch_size": 16}
    text = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 6, "vocab_size": 49408}
    config = OwlViTConfig(text_config=text, vision_config=vision, projection_dim=384)
    model = Named(OwlViTForObjectDetection(config), ("input_ids", "pixel_values", "attention_mask"), lambda out: out.pred_boxes)
    inputs = (random_words(49406, batch * queries, 16, device), random_pictures(batch, device, size),
              torch.ones(batch * queries, 16, dtype=torch.int64, device=device))
    return towards(model, inputs, (batch, (size // 16) ** 2, 4))


def pictures_by_names(batch, device, seq=48, size=224):
    """ALIGN, small: EfficientNet for pictures, BERT of six layers for words, all pairs of a batch compared."""
    from transformers import AlignConfig, AlignModel
    text = {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048}
    vision = {"image_size": size, "width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 320}
    config = AlignConfig(text_config=text, vision_config=vision, projection_dim=320)
    names = ("input_ids", "pixel_values", "attention_mask")
    model = Named(AlignModel(config), names, lambda out: out.logits_per_text).to(device)
    inputs = (random_words(30522, batch, seq, device), random_pictures(batch, device, size),
              torch.ones(batch, seq, dtype=torch.int64, device=device))
    return Workload(model, inputs, class_loss(torch.arange(batch, device=device)), ADAMW, {"seq": seq})


VARIED = {
    "window_patches": window_patches, "pages_read": pages_read, "captions": captions, "sampled_boxes": sampled_boxes,
    "sounds_conformed": sounds_conformed, "series_taken_apart": series_taken_apart, "actions": actions,
    "named_things": named_things, "pictures_by_names": pictures_by_names,
}
