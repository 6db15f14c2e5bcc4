"""Networks as people write them from PyTorch's own layers of attention, and of the libraries those that read about two things at once,
fill in what is hidden, hear, forecast or recognise print; small pictures last."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_answers import random_words
from networks_images import video
from networks_language import causal, of_two_classes
from networks_libraries import Applied, towards
from workload import ADAMW, SGD, Hidden, Workload, class_loss, words_loss


class EncoderClasses(nn.Module):
    """Words through nn.TransformerEncoder, their mean to classes. With `first`, norms precede each half and positions the batch."""

    def __init__(self, first, vocab, seq, width=512, layers=6, classes=2):
        super().__init__()
        self.first = first
        self.words = nn.Embedding(vocab, width)
        self.places = nn.Parameter(0.02 * torch.randn(seq, width))
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, activation="gelu", batch_first=not first, norm_first=first)
        self.layers = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width) if first else None, enable_nested_tensor=not first)
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.words(ids) + self.places
        x = self.layers(x.transpose(0, 1)).mean(0) if self.first else self.layers(x).mean(1)
        return self.head(x)


def encoder(first, vocab=30522, seq=256):
    """PyTorch's encoder; in inference without autocast each layer is one operation, unless positions are the first dimension."""
    def builder(batch, device):
        return of_two_classes(EncoderClasses(first, vocab, seq).to(device), vocab, batch, device, seq)
    return builder


class AttendedBlock(nn.Module):
    """A layer around nn.MultiheadAttention; what came in stands first in both sums."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.step = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.step(self.behind(x))


class AttendedPatches(nn.Module):
    """Patches of a picture, eight layers, the mean to classes."""

    def __init__(self, width=384, layers=8, size=224, patch=16, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2, width))
        self.layers = nn.Sequential(*(AttendedBlock(width, 6) for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, pictures):
        x = self.patches(pictures).flatten(2).transpose(1, 2) + self.places
        return self.head(self.layers(x).mean(1))


def random_pictures(batch, device, height=224, width=None):
    return torch.randn(batch, 3, height, width or height, device=device)


def of_classes(model, inputs, classes, optimizer=ADAMW):
    """`model` on `inputs`, each of which is of one of `classes`."""
    target = torch.randint(0, classes, (len(inputs[0]),), device=inputs[0].device)
    return Workload(model.to(target.device), inputs, class_loss(target), optimizer)


def multihead(batch, device):
    return of_classes(AttendedPatches(), (random_pictures(batch, device),), 1000)


class Named(Applied):
    """A network of Transformers whose inputs have names, and which returns only what `taken` picks of its answer."""

    def __init__(self, model, names, taken=lambda out: out.logits):
        super().__init__(model, taken)
        self.names = names

    def forward(self, *inputs):
        return self.taken(self.model(**dict(zip(self.names, inputs))))


class WholePictures(nn.Module):
    """ViLT on pictures of its own size: all patches are taken, where the library draws them picture by picture on the host."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, pictures):
        parts = self.model.embeddings
        x = parts.patch_embeddings(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([parts.cls_token.expand(len(x), -1, -1), x], 1) + parts.position_embeddings
        seen = torch.ones(x.shape[:2], device=x.device)
        return self.model(ids, image_embeds=x, pixel_mask=seen).pooler_output


def vilt(batch, device, words=40):
    """ViLT, eight layers: patches of 32 pixels and words as one sequence."""
    from transformers import ViltConfig, ViltModel
    config = ViltConfig(num_hidden_layers=8)
    inputs = random_words(config.vocab_size, batch, words, device), random_pictures(batch, device, config.image_size)
    return of_classes(WholePictures(ViltModel(config)), inputs, config.hidden_size)


def visual_bert(batch, device, words=64, things=36):
    """VisualBERT, eight layers: words and the features of things that a detector found, as one sequence."""
    from transformers import VisualBertConfig, VisualBertForVisualReasoning
    config = VisualBertConfig(num_hidden_layers=8, visual_embedding_dim=2048)
    model = Named(VisualBertForVisualReasoning(config), ("input_ids", "visual_embeds"))
    found = torch.randn(batch, things, config.visual_embedding_dim, device=device)
    return of_classes(model, (random_words(config.vocab_size, batch, words, device), found), 2)


def ijepa(batch, device):
    """I-JEPA's encoder, eight layers of 768: patches alone, no token of a class."""
    from transformers import IJepaConfig, IJepaModel
    config = IJepaConfig(num_hidden_layers=8)
    return of_classes(Hidden(IJepaModel(config)), (random_pictures(batch, device),), config.hidden_size)


def simmim(batch, device, size=192):
    """SimMIM: a Swin in whose picture three patches of five are one learnt token, and how far these are from what was there."""
    from transformers import SwinConfig, SwinForMaskedImageModeling
    # Its loss sums pixels in the type of the model, so it is infinite in plain FP16 (fp16w); autocast and BF16 hold it.
    model = Named(SwinForMaskedImageModeling(SwinConfig(image_size=size, window_size=6)), ("pixel_values", "bool_masked_pos"),
                  lambda out: out.loss)
    hidden = torch.rand(batch, (size // 4) ** 2, device=device) < 0.6
    return Workload(model.to(device), (random_pictures(batch, device, size), hidden), lambda loss: loss.float(), ADAMW)


def informer(batch, device, length=336, ahead=96, columns=7, times=4):
    """Informer: only queries that stand out attend, the forecast is a Student's t; lengths stay whole, as compiled masks want."""
    from transformers import InformerConfig, InformerForPrediction
    config = InformerConfig(context_length=length, prediction_length=ahead, input_size=columns, num_time_features=times, d_model=512,
                            encoder_layers=3, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8,
                            encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_layerdrop=0.0, decoder_layerdrop=0.0, distil=False,
                            use_cache=False, lags_sequence=[1, 2, 3, 4, 5, 6, 7])
    names = ("past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features")
    model = Named(InformerForPrediction(config), names, lambda out: out.loss)
    past = length + max(config.lags_sequence)

    def steps(number, width):
        return torch.randn(batch, number, width, device=device)
    inputs = (steps(past, columns), steps(past, times), torch.ones(batch, past, columns, device=device), steps(ahead, columns),
              steps(ahead, times))
    return Workload(model.to(device), inputs, lambda loss: loss.float(), ADAMW)


def luke(batch, device, words=128, spans=2):
    """LUKE, eight layers: what two names of a text are to each other; words and names ask each other with queries of their own."""
    from transformers import LukeConfig, LukeForEntityPairClassification
    config = LukeConfig(num_hidden_layers=8, entity_vocab_size=50000, num_labels=42)
    model = Named(LukeForEntityPairClassification(config), ("input_ids", "entity_ids", "entity_position_ids"))
    places = torch.randint(0, words, (batch, spans, 30), device=device)
    names = random_words(config.entity_vocab_size, batch, spans, device)
    return of_classes(model, (random_words(config.vocab_size, batch, words, device), names, places), config.num_labels)


def speecht5(batch, device, letters=120, frames=200):
    """SpeechT5, six layers that read letters and six that write a spectrum, two frames at a time."""
    from transformers import SpeechT5Config, SpeechT5ForTextToSpeech
    config = SpeechT5Config(encoder_layers=6, encoder_layerdrop=0.0, decoder_layerdrop=0.0, use_cache=False)
    model = Named(SpeechT5ForTextToSpeech(config), ("input_ids", "decoder_input_values"), lambda out: out.spectrogram)
    spectrum = torch.randn(batch, frames, config.num_mel_bins, device=device)
    return towards(model, (random_words(config.vocab_size, batch, letters, device), spectrum),
                   (batch, config.reduction_factor * frames, config.num_mel_bins))


def musicgen(batch, device, seq=256, told=32):
    """MusicGen's decoder, eight layers: four books of codes a step, added up as they come in, told by a text."""
    from transformers import MusicgenForCausalLM
    from transformers.models.musicgen.configuration_musicgen import MusicgenDecoderConfig
    config = MusicgenDecoderConfig(num_hidden_layers=8, use_cache=False)
    model = Named(MusicgenForCausalLM(config), ("input_ids", "encoder_hidden_states")).to(device)
    codes, target = (random_words(config.vocab_size, batch * config.num_codebooks, seq, device) for _ in range(2))
    text = torch.randn(batch, told, config.hidden_size, device=device)
    return Workload(model, (codes, text), words_loss(config.vocab_size, target), ADAMW, {"seq": seq})


def mgp_str(batch, device):
    """MGP-STR, eight layers: a word in a picture as letters, as pieces of two kinds, each place from weights over the patches."""
    from transformers import MgpstrConfig, MgpstrForSceneTextRecognition
    config = MgpstrConfig(num_hidden_layers=8)
    model = Applied(MgpstrForSceneTextRecognition(config), lambda out: out.logits).to(device)
    sizes = (config.num_character_labels, config.num_bpe_labels, config.num_wordpiece_labels)
    targets = [random_words(size, batch, config.max_token_length, device) for size in sizes]

    def loss(scores):
        return sum(words_loss(size, words)(of_kind) for size, words, of_kind in zip(sizes, targets, scores))
    return Workload(model, (random_pictures(batch, device, *config.image_size),), loss, ADAMW)


def vitpose(batch, device, joints=17):
    """ViTPose, eight layers of 768: where the joints of a person are, by two transposed layers."""
    from transformers import VitPoseBackboneConfig, VitPoseConfig, VitPoseForPoseEstimation
    trunk = VitPoseBackboneConfig(num_hidden_layers=8, out_indices=[8])
    model = VitPoseForPoseEstimation(VitPoseConfig(backbone_config=trunk, use_simple_decoder=False, num_labels=joints))
    height, width = trunk.image_size
    return towards(Applied(model, lambda out: out.heatmaps), (random_pictures(batch, device, height, width),),
                   (batch, joints, height // 4, width // 4))


class SmallBlock(nn.Module):
    """Two layers beside a way that, where the picture halves, skips pixels and adds channels of zeros."""

    def __init__(self, before, after):
        super().__init__()
        self.stride, self.more = after // before, after - before
        self.first = nn.Conv2d(before, after, 3, self.stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(after) for _ in range(2))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        if self.more:
            x = F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, self.more // 2, self.more // 2))
        return F.relu(y + x)


class SmallResNet(nn.Module):
    """The ResNet of 6 n + 2 layers for pictures of 32 x 32."""

    def __init__(self, blocks=9, widths=(16, 32, 64), outputs=10):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        ends = (widths[0], *widths)
        self.blocks = nn.Sequential(*(SmallBlock(before if i == 0 else after, after)
                                      for before, after in zip(ends, widths) for i in range(blocks)))
        self.head = nn.Linear(widths[-1], outputs)

    def forward(self, x):
        return self.head(self.blocks(self.first(x)).mean((2, 3)))


def cifar_resnet(batch, device):
    """ResNet-56 of CIFAR."""
    return of_classes(SmallResNet(), (random_pictures(batch, device, 32),), 10, SGD)


class Decorrelated(nn.Module):
    """Two views of a picture by one network; how their codes' columns depend on each other (Barlow Twins)."""

    def __init__(self, width=512, code=1024):
        super().__init__()
        self.encoder = SmallResNet(3, (64, 128, 256), width)
        self.project = nn.Sequential(nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, code, bias=False), nn.BatchNorm1d(code), nn.ReLU(),
                                     nn.Linear(code, code, bias=False))
        self.norm = nn.BatchNorm1d(code, affine=False)

    def forward(self, one, other):
        first, second = (self.norm(self.project(self.encoder(view))) for view in (one, other))
        return first.t() @ second / len(one)


def barlow_twins(batch, device):
    def loss(shared):
        shared = shared.float()
        own = shared.diagonal()
        return (own - 1).square().sum() + 0.005 * (shared.square().sum() - own.square().sum())
    views = tuple(random_pictures(batch, device, 32) for _ in range(2))
    return Workload(Decorrelated().to(device), views, loss, SGD)


READ = {
    "encoder_classes": encoder(first=False), "encoder_first": encoder(first=True), "multihead": multihead, "vilt": vilt,
    "visual_bert": visual_bert, "ijepa": ijepa, "simmim": simmim, "informer": informer, "luke": luke, "speecht5": speecht5,
    "musicgen": musicgen, "mgp_str": mgp_str, "vitpose": vitpose, "mvit_v1_b": video("mvit_v1_b", size=224),
    "cifar_resnet": cifar_resnet, "barlow_twins": barlow_twins,
    # A decoder like Falcon-H1 0.5B, four layers: each has attention and a Mamba 2 side by side, in plain PyTorch.
    "falcon_h1": causal("falcon_h1", 512, vocab_size=32784, hidden_size=1024, intermediate_size=2048, num_hidden_layers=4,
                        num_attention_heads=8, num_key_value_heads=2, mamba_d_ssm=1536, mamba_n_heads=24, mamba_d_state=64,
                        mamba_chunk_size=64),
    # A decoder like RecurrentGemma, three narrow layers: two with a gated linear recurrence, word by word, and one that attends.
    "recurrent_gemma": causal("recurrent_gemma", 64, vocab_size=50304, hidden_size=1024, intermediate_size=6144, num_hidden_layers=3,
                              num_attention_heads=8, num_key_value_heads=1),
    # A decoder like xLSTM 7B, six narrow layers: a matrix of each head is remembered from 64 positions to the next, gates are exponents.
    "xlstm": causal("xlstm", 512, vocab_size=50304, hidden_size=1024, num_hidden_layers=6, num_heads=4, mode="train"),
    # A decoder like OLMo 3, eight narrow layers: three of four see 128 positions back, norms behind attention and MLP.
    "olmo3": causal("olmo3", 512, vocab_size=50304, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8,
                    num_attention_heads=16, num_key_value_heads=4, sliding_window=128),
    # A decoder like Qwen3 30B-A3B, four narrow layers: sixteen experts, of which each token asks four, norms of heads.
    "qwen3_moe": causal("qwen3_moe", 512, vocab_size=50304, hidden_size=1024, moe_intermediate_size=768, num_hidden_layers=4,
                        num_attention_heads=16, num_key_value_heads=4, head_dim=64, num_experts=16, num_experts_per_tok=4,
                        norm_topk_prob=True),
}
