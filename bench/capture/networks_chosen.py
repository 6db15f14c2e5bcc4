"""More networks of Transformers that no other list holds: masks of regions, mattes, clips and words, questions in between, words
that disentangle places, blocks of a long text, tables, a picture painted after an example."""
import torch
from torch import nn

from networks_answers import random_words, writes
from networks_labelled import labelled
from networks_libraries import Applied, sounds_of, towards
from networks_read import Named, random_pictures
from networks_varied import word_loss
from workload import ADAMW, Workload, class_loss


def masks_of_regions(batch, device, size=224):
    """MaskFormer on a tiny Swin: a pyramid of pixels, six layers of 100 queries, a mask of each."""
    from transformers import DetrConfig, MaskFormerConfig, MaskFormerModel, SwinConfig
    trunk = SwinConfig(image_size=size, out_features=["stage1", "stage2", "stage3", "stage4"])
    config = MaskFormerConfig(backbone_config=trunk, decoder_config=DetrConfig(decoder_layers=6, num_queries=100))
    taken = lambda out: torch.einsum("bqc,bchw->bqhw", out.transformer_decoder_last_hidden_state, out.pixel_decoder_last_hidden_state)
    model = Applied(MaskFormerModel(config), taken)
    return towards(model, (random_pictures(batch, device, size),), (batch, 100, size // 4, size // 4))


def mattes(batch, device, size=256):
    """ViTMatte: eight blocks of a ViTDet of 384 on pictures with a hint, then convolutions up to the picture's own size."""
    from transformers import VitDetConfig, VitMatteConfig, VitMatteForImageMatting
    backbone = VitDetConfig(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, image_size=size, pretrain_image_size=size,
                            num_channels=4, window_size=8, window_block_indices=[0, 1, 2, 4, 5, 6], out_features=["stage8"])
    config = VitMatteConfig(backbone_config=backbone, hidden_size=384, fusion_hidden_sizes=[256, 128, 64, 32])
    model = Applied(VitMatteForImageMatting(config), lambda out: out.alphas)
    return towards(model, (torch.randn(batch, 4, size, size, device=device),), (batch, 1, size, size))


def clips_and_words(batch, device, seq=32, frames=4, size=112):
    """X-CLIP, small: frames of a clip pass messages, words are prompted by what is seen."""
    from transformers import XCLIPConfig, XCLIPModel
    text = {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048}
    vision = dict(text, image_size=size, patch_size=16, num_frames=frames, mit_hidden_size=512, mit_intermediate_size=2048,
                  mit_num_attention_heads=8, mit_num_hidden_layers=1)
    config = XCLIPConfig(text_config=text, vision_config=vision, projection_dim=512, prompt_num_attention_heads=8)
    model = Named(XCLIPModel(config), ("input_ids", "pixel_values"), lambda out: out.logits_per_video)
    clips = torch.randn(batch, frames, 3, size, size, device=device)
    inputs = random_words(49000, batch, seq, device), clips
    return Workload(model.to(device), inputs, class_loss(torch.arange(batch, device=device)), ADAMW, {"seq": seq})


def questions_between(batch, device, seq=32, size=224):
    """BLIP-2, small: six layers see, 32 questions ask in four, six layers of OPT of 512 tell."""
    from transformers import Blip2Config, Blip2ForConditionalGeneration, OPTConfig
    vision = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8, "patch_size": 16,
              "image_size": size}
    asking = {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 2048, "encoder_hidden_size": 512}
    text = OPTConfig(hidden_size=512, word_embed_proj_dim=512, ffn_dim=2048, num_hidden_layers=6, num_attention_heads=8, use_cache=False)
    config = Blip2Config(vision_config=vision, qformer_config=asking, text_config=text.to_dict(), num_query_tokens=32, image_token_index=50265)
    config.text_config.vocab_size = 50272
    ids = random_words(50000, batch, 32 + seq, device)
    ids[:, :32] = config.image_token_index
    model = Named(Blip2ForConditionalGeneration(config), ("pixel_values", "input_ids"), lambda out: out.logits[:, -seq:]).to(device)
    return Workload(model, (random_pictures(batch, device, size), ids), word_loss(random_words(50000, batch, seq, device)), ADAMW, {"seq": seq})


def words_of_places(batch, device):
    """SEW-D: wav2vec's convolutions, half as many positions in attention that takes places apart."""
    from transformers import SEWDConfig, SEWDModel
    config = SEWDConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, mask_time_prob=0.0,
                        layerdrop=0.0)
    return sounds_of(SEWDModel(config), config.hidden_size, batch, device)


def long_texts(batch, device, read=512, written=64):
    """PEGASUS-X: attention within blocks of 64 beside 32 words that see all; four and four layers of 512."""
    from transformers import PegasusXConfig, PegasusXForConditionalGeneration
    config = PegasusXConfig(vocab_size=32000, d_model=512, encoder_layers=4, decoder_layers=4, encoder_attention_heads=8,
                            decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, num_global_tokens=32, block_size=64,
                            max_position_embeddings=1024, use_cache=False)
    return writes(PegasusXForConditionalGeneration(config), "input_ids", random_words(32000, batch, read, device), 32000, (batch, written))


class Cells(nn.Module):
    """Which of the words that `seen` reads are cells that answer."""

    def __init__(self, seen, width):
        super().__init__()
        self.seen, self.tell = seen, nn.Linear(width, 2)

    def forward(self, ids, places):
        return self.tell(self.seen(ids, places))


def tables_asked(batch, device, seq=256):
    """TAPAS, six layers: words with seven kinds of places in a table; which cells answer."""
    from transformers import TapasConfig, TapasModel
    seen = Named(TapasModel(TapasConfig(num_hidden_layers=6)), ("input_ids", "token_type_ids"), lambda out: out.last_hidden_state)
    inputs = random_words(30000, batch, seq, device), torch.randint(0, 2, (batch, seq, 7), device=device)
    return Workload(Cells(seen, 768).to(device), inputs, word_loss(torch.randint(0, 2, (batch, seq), device=device)), ADAMW, {"seq": seq})


def paired_pictures(batch, device, size=224):
    """SegGPT, six layers of 512: a picture and its example above each other, painted after the example."""
    from transformers import SegGptConfig, SegGptModel
    config = SegGptConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, image_size=[2 * size, size], merge_index=2,
                          intermediate_hidden_state_indices=[3, 5], pretrain_image_size=size, mlp_dim=2048)
    names = "pixel_values", "prompt_pixel_values", "prompt_masks"
    model = Named(SegGptModel(config), names, lambda out: out.last_hidden_state)
    return towards(model, tuple(random_pictures(batch, device, size) for _ in names), (batch, 2 * size // 16, size // 16, 512))


def classed_words(kind, seq, vocab=30000, **sizes):
    """A classifier of texts of one of Transformers' kinds, which computes its own loss."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForSequenceClassification
        config = AutoConfig.for_model(kind, num_labels=4, **sizes)
        model = AutoModelForSequenceClassification.from_config(config)
        return labelled(model, {"input_ids": random_words(vocab, batch, seq, device),
                                "labels": torch.randint(0, 4, (batch,), device=device)}, {"seq": seq})
    return builder


CHOSEN = {
    "masks_of_regions": masks_of_regions, "mattes": mattes, "clips_and_words": clips_and_words, "questions_between": questions_between,
    "words_of_places": words_of_places, "long_texts": long_texts, "tables_asked": tables_asked, "paired_pictures": paired_pictures,
    "xlm": classed_words("xlm", 128, emb_dim=768, n_layers=6, n_heads=12),
    "nomic_bert": classed_words("nomic_bert", 256, num_hidden_layers=8),
}
