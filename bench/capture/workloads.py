"""The models that capture.py records: build(name, batch, device) gives a Workload."""
import torch
import torch.nn.functional as F
from torch import nn

SGD = "sgd"
PLAIN_SGD = "plain_sgd"
ADAMW = "adamw"


class Workload:
    """A model with synthetic inputs on the device, its loss and the kind of optimizer it uses."""

    def __init__(self, model, inputs, loss, optimizer, notes=None):
        # Without norms a rate of 0.1 diverges, and a GPU that multiplies NaN takes less power.
        normalised = any("Norm" in type(module).__name__ for module in model.modules())
        self.rate = 0.1 if normalised else 1e-4
        self.model = model
        self.inputs = inputs
        self.loss = loss
        self.optimizer_kind = optimizer
        self.notes = notes or {}

    def make_optimizer(self, capturable):
        parameters = self.model.parameters()
        if self.optimizer_kind == ADAMW:
            return torch.optim.AdamW(parameters, lr=1e-4, foreach=True, capturable=capturable)
        if self.optimizer_kind == PLAIN_SGD:
            return torch.optim.SGD(parameters, lr=0.1)
        return torch.optim.SGD(parameters, lr=self.rate, momentum=0.9, weight_decay=1e-4, foreach=True)


def class_loss(target):
    """Cross entropy of [batch, classes] scores."""
    return lambda scores: F.cross_entropy(scores.float(), target)


def vision(name, optimizer):
    """A classifier of torchvision, or else of timm, on 224x224 images."""
    def builder(batch, device):
        import torchvision
        if hasattr(torchvision.models, name):
            model = getattr(torchvision.models, name)(weights=None).to(device)
        else:
            import timm
            model = timm.create_model(name).to(device)
        images = torch.randn(batch, 3, 224, 224, device=device)
        target = torch.randint(0, 1000, (batch,), device=device)
        return Workload(model, (images,), class_loss(target), optimizer)
    return builder


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        x = torch.tanh(self.fc1(torch.flatten(x, 1)))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


def lenet5(batch, device):
    images = torch.randn(batch, 1, 28, 28, device=device)
    target = torch.randint(0, 10, (batch,), device=device)
    return Workload(LeNet5().to(device), (images,), class_loss(target), SGD)


class Logits(nn.Module):
    """A Hugging Face language model that returns its scores only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids).logits


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


def decoder(model_of, seq):
    """Causal language model of model_of(), (model, vocabulary): position i predicts token i + 1."""
    def builder(batch, device):
        model, vocab = model_of()
        model = Logits(model).to(device)
        ids = torch.randint(0, vocab, (batch, seq), device=device)
        target = ids[:, 1:].reshape(-1)

        def loss(scores):
            return F.cross_entropy(scores[:, :-1].reshape(-1, vocab).float(), target)
        return Workload(model, (ids,), loss, ADAMW, {"seq": seq})
    return builder


def gpt2(layers):
    def model_of():
        from transformers import GPT2Config, GPT2LMHeadModel
        config = GPT2Config(n_layer=layers, use_cache=False)
        return GPT2LMHeadModel(config), config.vocab_size
    return decoder(model_of, seq=512)


def llama(layers):
    """A decoder like Llama 3.2 1B (16 layers of 2048): 32 heads that share 8 keys, products of 8192."""
    def model_of():
        from transformers import LlamaConfig, LlamaForCausalLM
        config = LlamaConfig(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=layers,
                             num_attention_heads=32, num_key_value_heads=8, tie_word_embeddings=True, use_cache=False)
        return LlamaForCausalLM(config), config.vocab_size
    return decoder(model_of, seq=512)


def opt():
    """OPT 125M: a decoder with ReLU and learned positions."""
    from transformers import OPTConfig, OPTForCausalLM
    config = OPTConfig(use_cache=False)
    return OPTForCausalLM(config), config.vocab_size


def qwen2():
    """A decoder like Qwen2 0.5B, 12 of its 24 layers: 14 heads of 64 that share 2 keys, biases on queries and keys."""
    from transformers import Qwen2Config, Qwen2ForCausalLM
    config = Qwen2Config(vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=12,
                         num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True, use_cache=False)
    return Qwen2ForCausalLM(config), config.vocab_size


def pythia():
    """A decoder like Pythia 70M: attention and MLP side by side, a quarter of each head rotated."""
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
    config = GPTNeoXConfig(vocab_size=50304, hidden_size=512, num_hidden_layers=6, num_attention_heads=8,
                           intermediate_size=2048, use_cache=False)
    return GPTNeoXForCausalLM(config), config.vocab_size


def gemma():
    """A decoder like Gemma, six narrow layers: eight heads of 128 that share one key, gated GELU, an embedding that is scaled."""
    from transformers import GemmaConfig, GemmaForCausalLM
    config = GemmaConfig(vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                         num_attention_heads=8, num_key_value_heads=1, head_dim=128, use_cache=False)
    return GemmaForCausalLM(config), config.vocab_size


def qwen3():
    """A decoder like Qwen3, six narrow layers: 16 heads of 64 that share 4 keys, a norm of each head's queries and keys."""
    from transformers import Qwen3Config, Qwen3ForCausalLM
    config = Qwen3Config(vocab_size=50304, hidden_size=1024, intermediate_size=3072, num_hidden_layers=6,
                         num_attention_heads=16, num_key_value_heads=4, head_dim=64, use_cache=False)
    return Qwen3ForCausalLM(config), config.vocab_size


def bloom():
    """A decoder like BLOOM, six layers of 1024: positions are a bias of the scores, which are products in memory."""
    from transformers import BloomConfig, BloomForCausalLM
    config = BloomConfig(vocab_size=50304, hidden_size=1024, n_layer=6, n_head=16, use_cache=False)
    return BloomForCausalLM(config), config.vocab_size


def falcon():
    """A decoder like Falcon 7B, six narrow layers: 16 heads that share one key, attention and MLP side by side, no biases."""
    from transformers import FalconConfig, FalconForCausalLM
    config = FalconConfig(vocab_size=50304, hidden_size=1024, num_hidden_layers=6, num_attention_heads=16,
                          multi_query=True, parallel_attn=True, alibi=False, bias=False, use_cache=False)
    return FalconForCausalLM(config), config.vocab_size


def bart(batch, device, seq=128):
    """BART base: six layers that read, six that write, with learned positions."""
    from transformers import BartConfig, BartForConditionalGeneration
    config = BartConfig(d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
                        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072)
    return translation(BartForConditionalGeneration(config), config.vocab_size, batch, device, seq)


class Hidden(nn.Module):
    """A Hugging Face encoder that returns the mean of its last layer only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sound):
        return self.model(sound).last_hidden_state.mean(1)


def whisper(batch, device):
    """The encoder of Whisper small: two convolutions over 30 s of sound, then twelve layers on 1500 positions."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = WhisperConfig(d_model=768, encoder_layers=12, encoder_attention_heads=12, encoder_ffn_dim=3072)
    sound = torch.randn(batch, config.num_mel_bins, 3000, device=device)
    target = torch.randint(0, 768, (batch,), device=device)
    return Workload(Hidden(WhisperEncoder(config)).to(device), (sound,), class_loss(target), ADAMW)


def wav2vec2(batch, device, samples=80000):
    """The encoder of wav2vec 2.0 base: seven convolutions over 5 s of sound, a grouped one of 128 positions, twelve layers."""
    from transformers import Wav2Vec2Config, Wav2Vec2Model
    config = Wav2Vec2Config(mask_time_prob=0.0, layerdrop=0.0)
    sound = torch.randn(batch, samples, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(Wav2Vec2Model(config)).to(device), (sound,), class_loss(target), ADAMW)


def conformer(batch, device, samples=80000):
    """The encoder of a small wav2vec 2.0 Conformer: depthwise layers over 31 positions, relative positions in the scores."""
    from transformers import Wav2Vec2ConformerConfig, Wav2Vec2ConformerModel
    config = Wav2Vec2ConformerConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048,
                                     position_embeddings_type="relative", mask_time_prob=0.0, layerdrop=0.0)
    sound = torch.randn(batch, samples, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(Wav2Vec2ConformerModel(config)).to(device), (sound,), class_loss(target), ADAMW)


def deberta(batch, device, seq=256):
    """DeBERTa V3, six layers: scores of contents and of relative positions, gathered from 512 of them."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification
    config = DebertaV2Config(vocab_size=50304, hidden_size=768, num_hidden_layers=6, num_attention_heads=12,
                             intermediate_size=3072, relative_attention=True, pos_att_type=["p2c", "c2p"],
                             position_buckets=256, share_att_key=True, norm_rel_ebd="layer_norm", max_relative_positions=-1)
    model = Logits(DebertaV2ForSequenceClassification(config)).to(device)
    ids = torch.randint(0, config.vocab_size, (batch, seq), device=device)
    target = torch.randint(0, 2, (batch,), device=device)
    return Workload(model, (ids,), class_loss(target), ADAMW, {"seq": seq})


def albert(batch, device, seq=128):
    """ALBERT base: twelve times the same layer, an embedding of 128 columns."""
    from transformers import AlbertConfig, AlbertForSequenceClassification
    config = AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072)
    model = Logits(AlbertForSequenceClassification(config)).to(device)
    ids = torch.randint(0, config.vocab_size, (batch, seq), device=device)
    target = torch.randint(0, 2, (batch,), device=device)
    return Workload(model, (ids,), class_loss(target), ADAMW, {"seq": seq})


def distilbert(batch, device, seq=256):
    """Six layers that classify a sequence."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification
    config = DistilBertConfig()
    model = Logits(DistilBertForSequenceClassification(config)).to(device)
    ids = torch.randint(0, config.vocab_size, (batch, seq), device=device)
    target = torch.randint(0, 2, (batch,), device=device)
    return Workload(model, (ids,), class_loss(target), ADAMW, {"seq": seq})


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

    def loss(scores):
        return F.cross_entropy(scores.view(-1, vocab).float(), ids.view(-1))
    return Workload(model, (source, ids), loss, ADAMW, {"seq": seq})


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


def perceptron(*widths):
    """Linear layers, each followed by a ReLU."""
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    TABLES, ROWS, DIM = 26, 200_000, 128

    def __init__(self):
        super().__init__()
        self.bottom = perceptron(13, 512, 256, self.DIM)
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(self.ROWS, self.DIM, mode="sum", sparse=True) for _ in range(self.TABLES))
        features = self.TABLES + 1
        pairs = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("pairs", pairs)
        self.top = perceptron(self.DIM + pairs.shape[1], 1024, 1024, 512, 256)
        self.last = nn.Linear(256, 1)

    def forward(self, dense, sparse, offsets):
        x = self.bottom(dense)
        rows = [table(sparse[i], offsets) for i, table in enumerate(self.tables)]
        stacked = torch.stack([x] + [row.to(x.dtype) for row in rows], dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        flat = products[:, self.pairs[0], self.pairs[1]]
        return self.last(self.top(torch.cat([x, flat], dim=1)))


def dlrm(batch, device):
    dense = torch.randn(batch, 13, device=device)
    sparse = torch.randint(0, Dlrm.ROWS, (Dlrm.TABLES, batch), device=device)
    offsets = torch.arange(batch, device=device)
    target = torch.rand(batch, 1, device=device).round()

    def loss(scores):
        return F.binary_cross_entropy_with_logits(scores.float(), target)
    return Workload(Dlrm().to(device), (dense, sparse, offsets), loss, PLAIN_SGD)


def double_conv(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Four levels down and up again with skip connections."""
    WIDTHS = (32, 64, 128, 256)

    def __init__(self, classes=2):
        super().__init__()
        pairs = list(zip(self.WIDTHS, self.WIDTHS[1:]))
        self.first = double_conv(3, self.WIDTHS[0])
        self.down = nn.ModuleList(double_conv(low, high) for low, high in pairs)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(high, low, 2, stride=2) for low, high in reversed(pairs))
        self.up = nn.ModuleList(double_conv(2 * low, low) for low, _ in reversed(pairs))
        self.last = nn.Conv2d(self.WIDTHS[0], classes, 1)

    def forward(self, x):
        skips = [self.first(x)]
        for block in self.down:
            skips.append(block(F.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([skips.pop(), grow(x)], dim=1))
        return self.last(x)


def unet(batch, device, size=128):
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randint(0, 2, (batch, size, size), device=device)
    return Workload(UNet().to(device), (images,), class_loss(target), SGD)


class Segmented(nn.Module):
    """A network that segments images and returns the scores of each pixel only."""

    def __init__(self, model, scores_of):
        super().__init__()
        self.model = model
        self.scores_of = scores_of

    def forward(self, images):
        return self.scores_of(self.model(images))


def segmentation(model, scores_of, classes, side, optimizer, batch, device, size=224):
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randint(0, classes, (batch, side, side), device=device)
    return Workload(Segmented(model, scores_of).to(device), (images,), class_loss(target), optimizer)


def deeplabv3(batch, device):
    """DeepLab V3 on ResNet-50: dilated convolutions, scores brought to the size of the image."""
    from torchvision.models.segmentation import deeplabv3_resnet50
    model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21)
    return segmentation(model, lambda out: out["out"], 21, 224, SGD, batch, device)


def segformer(batch, device):
    """SegFormer B0: attention to a reduced image, a depthwise layer in each MLP."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    config = SegformerConfig(num_labels=150)
    return segmentation(SegformerForSemanticSegmentation(config), lambda out: out.logits, 150, 56, ADAMW, batch, device)


def conv_chain(channels, count):
    layers = []
    for _ in range(count):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)


class MultiStream(nn.Module):
    """Convolutions on one stream and a chain of small matrix products on another.

    Both wait for the stem (event `forked`), the second half of the products waits for the
    first half of the convolutions (event `halfway`), and the head waits for both streams.
    """

    def __init__(self, channels=64, width=1024, classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.ReLU())
        self.left = nn.ModuleList([conv_chain(channels, 3), conv_chain(channels, 3)])
        self.lift = nn.Linear(channels, width)
        self.right = nn.ModuleList([perceptron(*[width] * 13), perceptron(*[width] * 13)])
        self.head = nn.Linear(channels + width, classes)
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        self.forked, self.halfway = torch.cuda.Event(), torch.cuda.Event()

    def forward(self, x):
        x = self.stem(x)
        main = torch.cuda.current_stream()
        one, two = self.streams
        self.forked.record(main)
        x.record_stream(one)
        x.record_stream(two)
        with torch.cuda.stream(one):
            one.wait_event(self.forked)
            left = self.left[0](x)
            self.halfway.record(one)
        left.record_stream(two)
        with torch.cuda.stream(two):
            two.wait_event(self.forked)
            right = self.right[0](self.lift(x.mean((2, 3))))
            two.wait_event(self.halfway)
            right = self.right[1](right + self.lift(left.mean((2, 3))))
        with torch.cuda.stream(one):
            left = self.left[1](left).mean((2, 3))
        main.wait_stream(one)
        main.wait_stream(two)
        left.record_stream(main)
        right.record_stream(main)
        return self.head(torch.cat([left, right], dim=1))


def multistream(batch, device):
    images = torch.randn(batch, 3, 112, 112, device=device)
    target = torch.randint(0, 100, (batch,), device=device)
    return Workload(MultiStream().to(device), (images,), class_loss(target), SGD)


def xlnet(batch, device, seq=256):
    """XLNet base, six layers: scores of contents and of relative positions as einsums."""
    from transformers import XLNetConfig, XLNetForSequenceClassification
    config = XLNetConfig(d_model=768, n_layer=6, n_head=12, d_inner=3072)
    model = Logits(XLNetForSequenceClassification(config)).to(device)
    ids = torch.randint(0, config.vocab_size, (batch, seq), device=device)
    target = torch.randint(0, 2, (batch,), device=device)
    return Workload(model, (ids,), class_loss(target), ADAMW, {"seq": seq})


def video(batch, device, frames=16, size=112):
    """ResNet-18 with filters over time, too: clips of 16 frames."""
    from torchvision.models.video import r3d_18
    clips = torch.randn(batch, 3, frames, size, size, device=device)
    target = torch.randint(0, 400, (batch,), device=device)
    return Workload(r3d_18(weights=None).to(device), (clips,), class_loss(target), SGD)


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


def edsr(batch, device, width=64, blocks=16, size=48):
    """EDSR: residual blocks without norms, images four times as large by shuffled channels."""
    def conv(before, after):
        return nn.Conv2d(before, after, 3, padding=1)
    body = [Residual(conv(width, width), nn.ReLU(inplace=True), conv(width, width)) for _ in range(blocks)]
    grow = [layer for _ in range(2) for layer in (conv(width, 4 * width), nn.PixelShuffle(2))]
    model = nn.Sequential(conv(3, width), Residual(*body, conv(width, width)), *grow, conv(width, 3)).to(device)
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randn(batch, 3, 4 * size, 4 * size, device=device)
    return Workload(model, (images,), lambda out: F.l1_loss(out.float(), target), ADAMW)


def conv_tasnet(batch, device, samples=16000):
    """Conv-TasNet: two speakers apart, a second of sound; dilated depthwise layers and norms of whole signals."""
    from torchaudio.models import conv_tasnet_base
    sound = torch.randn(batch, 1, samples, device=device)
    target = torch.randn(batch, 2, samples, device=device)
    return Workload(conv_tasnet_base().to(device), (sound,), lambda out: F.mse_loss(out.float(), target), ADAMW)


class TwoTowers(nn.Module):
    """CLIP: the scores of each image with each text."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, images):
        return self.model(input_ids=ids, pixel_values=images).logits_per_image


def clip(batch, device, seq=77):
    """CLIP ViT-B/32: images and texts, contrasted."""
    from transformers import CLIPConfig, CLIPModel
    config = CLIPConfig()
    ids = torch.randint(0, config.text_config.vocab_size - 2, (batch, seq), device=device)
    images = torch.randn(batch, 3, 224, 224, device=device)
    target = torch.arange(batch, device=device)
    return Workload(TwoTowers(CLIPModel(config)).to(device), (ids, images), class_loss(target), ADAMW, {"seq": seq})


class GraphLayers(nn.Module):
    """Three layers that add up what the neighbours of a node say."""

    def __init__(self, width, classes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.last = nn.Linear(width, classes)

    def forward(self, x, source, target, degree):
        for own, layer in zip(self.own, self.layers):
            heard = torch.zeros_like(x).index_add_(0, target, x[source]) / degree
            x = F.relu(own(x) + layer(heard))
        return self.last(x)


def graph_sage(batch, device, nodes=1000, edges=16, width=256, classes=40):
    """GraphSAGE on `batch` thousand nodes with 16 random edges each."""
    count = batch * nodes
    x = torch.randn(count, width, device=device)
    source, target = (torch.randint(0, count, (count * edges,), device=device) for _ in range(2))
    degree = torch.bincount(target, minlength=count).clamp(min=1).unsqueeze(1).float()
    labels = torch.randint(0, classes, (count,), device=device)
    return Workload(GraphLayers(width, classes).to(device), (x, source, target, degree), class_loss(labels), ADAMW)


BUILDERS = {
    "resnet50": vision("resnet50", SGD),
    "mobilenet_v2": vision("mobilenet_v2", SGD),
    "vit_b_16": vision("vit_b_16", ADAMW),
    "bert_base": bert(12),
    "bert_base2l": bert(2),
    "bert_large": bert(24, width=1024),
    "distilbert": distilbert,
    "opt": decoder(opt, seq=256),
    "qwen2": decoder(qwen2, seq=512),
    "pythia": decoder(pythia, seq=512),
    "gemma": decoder(gemma, seq=512),
    "albert": albert,
    "t5": t5,
    "qwen3": decoder(qwen3, seq=512),
    "bloom": decoder(bloom, seq=256),
    "wav2vec2": wav2vec2,
    "falcon": decoder(falcon, seq=512),
    "conformer": conformer,
    "deberta": deberta,
    "deeplabv3": deeplabv3,
    "segformer": segformer,
    "bart": bart,
    "whisper": whisper,
    "llama": llama(16),
    "llama_4l": llama(4),
    "gpt2": gpt2(12),
    "gpt2_2l": gpt2(2),
    "dlrm": dlrm,
    "lenet5": lenet5,
    "lstm": recurrent(nn.LSTM),
    "gru": recurrent(nn.GRU),
    "unet": unet,
    "xlnet": xlnet,
    "r3d_18": video,
    "edsr": edsr,
    "conv_tasnet": conv_tasnet,
    "clip": clip,
    "graph_sage": graph_sage,
    "multistream": multistream,
}


def build(name, batch, device):
    """One of BUILDERS, or any other classifier of torchvision or timm with SGD."""
    torch.manual_seed(0)
    return BUILDERS.get(name, vision(name, SGD))(batch, device)
