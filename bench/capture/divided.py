"""How ranks divide a step among each other: STYLES[name](spec, load, world) gives the function that runs one iteration."""
import argparse

import torch
import torch.distributed as dist
from torch import nn

from iterations import make_step, precision_context
from networks_own import RmsNorm, WrittenGpt, of_words

BUCKET_MB = 25
PARTS = 4   # of a batch in a pipeline


def wrapped(spec, load):
    if spec.sync_norm:
        load.model = nn.SyncBatchNorm.convert_sync_batchnorm(load.model)
    model = nn.parallel.DistributedDataParallel(load.model, device_ids=[torch.cuda.current_device()] if torch.cuda.is_available() else None,
                                                bucket_cap_mb=BUCKET_MB)
    if spec.narrow_gradients:
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
        model.register_comm_hook(None, bf16_compress_hook)
    return model


def data_parallel(spec, load, world, device):
    if world > 1:
        load.model = wrapped(spec, load)
    return make_step(spec, load, device)


def accumulated(spec, load, world, device):
    """Two batches to an update; only the last one's backward sums gradients."""
    return data_parallel(argparse.Namespace(**{**vars(spec), "loop": ("accumulate",)}), load, world, device)


def states_sharded(spec, load, world, device):
    """ZeRO's first stage: each rank updates its part of the parameters and sends it to the others."""
    from torch.distributed.optim import ZeroRedundancyOptimizer
    load.model = wrapped(spec, load)
    load.make_optimizer = lambda capturable, fused=False: ZeroRedundancyOptimizer(
        load.model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-4)
    return make_step(spec, load, device)


def fully_sharded(spec, load, world, device, **policy):
    """Each block of a list of layers by itself, then what is left."""
    from torch.distributed.fsdp import fully_shard
    for module in list(load.model.modules()):
        if isinstance(module, nn.ModuleList):
            for block in module:
                fully_shard(block, **policy)
    load.model = fully_shard(load.model, **policy)
    return make_step(spec, load, device)


def sharded_narrow(spec, load, world, device):
    """Gathered in BF16, gradients scattered in FP32."""
    from torch.distributed.fsdp import MixedPrecisionPolicy
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return fully_sharded(spec, load, world, device, mp_policy=policy)


class Heads(nn.Module):
    """Causal attention of as many heads as this rank has, and a gated MLP."""

    def __init__(self, width, size, inner):
        super().__init__()
        self.size = size
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        batch, positions = x.shape[:2]
        y = self.norm1(x)
        q, k, v = (part(y).view(batch, positions, -1, self.size).transpose(1, 2) for part in (self.q, self.k, self.v))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, positions, -1))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, vocab=32000, width=2048, size=128, inner=5632, layers=6):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(Heads(width, size, inner) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def decoder(batch, device, vocab=32000, seq=512):
    return of_words(Decoder(vocab).to(device), vocab, batch, device, seq)


def tensor_parallel(spec, load, world, device):
    """Columns of the first products and rows of the second on each rank (Megatron-LM)."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    if world > 1:
        mesh = init_device_mesh(device, (world,))
        plan = {name: ColwiseParallel() for name in ("q", "k", "v", "gate", "up")}
        plan.update({name: RowwiseParallel() for name in ("out", "down")})
        for layer in load.model.layers:
            parallelize_module(layer, mesh, plan)
        groups = [[p for p in load.model.parameters() if isinstance(p, DTensor) == divided] for divided in (True, False)]
        load.make_optimizer = lambda capturable, fused=False: torch.optim.AdamW(
            [{"params": group} for group in groups], lr=1e-4, foreach=True)
    return make_step(spec, load, device)


def pipelined(spec, load, world, device):
    """Half of the layers on each rank, the batch in four parts, one forward and one backward in turn (1F1B)."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    rank, whole = dist.get_rank(), load.model
    count = len(whole.layers)
    stage_layers = whole.layers[rank * count // world:(rank + 1) * count // world]
    ends = {0: [whole.words], world - 1: [whole.norm, whole.head]}
    first, last = ends[0] if rank == 0 else [], ends[world - 1] if rank == world - 1 else []
    load.model = nn.Sequential(*first, *stage_layers, *last)
    optimizer = load.make_optimizer(capturable=False)
    autocast = precision_context(spec.precision, device)
    stage = PipelineStage(load.model, rank, world, torch.device(device, torch.cuda.current_device()) if device == "cuda" else torch.device(device))
    vocab = whole.head.out_features
    target = torch.randint(0, vocab, load.inputs[0].shape, device=device)
    schedule = Schedule1F1B(stage, PARTS, loss_fn=lambda scores, words: nn.functional.cross_entropy(
        scores.float().view(-1, vocab), words.reshape(-1)))

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            if rank == 0:
                schedule.step(*load.inputs)
            else:
                schedule.step(target=target)
        optimizer.step()
    return step


class SentWords(nn.Module):
    """An expert on each rank; every word goes to one of them and back, equally many to each."""

    def __init__(self, width, inner, world):
        super().__init__()
        self.world, self.choose = world, nn.Linear(width, 2, bias=False)
        self.norm, self.expert = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))

    def exchanged(self, x):
        from torch.distributed._functional_collectives import all_to_all_single_autograd, wait_tensor
        if self.world == 1:
            return x
        return wait_tensor(all_to_all_single_autograd(x, None, None, dist.group.WORLD))

    def forward(self, x):
        flat = self.norm(x).flatten(0, 1)
        weight = nn.functional.softmax(self.choose(flat).float(), dim=-1)[:, :1]
        order = weight[:, 0].argsort()
        sent = self.exchanged(flat[order])
        back = self.exchanged(self.expert(sent))
        return x + (torch.zeros_like(flat).index_copy(0, order, back.to(flat.dtype)) * weight.to(flat.dtype)).view_as(x)


class ExpertGpt(WrittenGpt):
    def __init__(self, world):
        super().__init__(vocab=16000, width=768, heads=12, layers=6)
        for layer in self.layers:
            layer.mlp = SentWords(768, 3072, world)


def experts(batch, device, vocab=16000, seq=256):
    model = ExpertGpt(dist.get_world_size()).to(device)
    own = [name for name, _ in model.named_parameters() if ".expert." in name]
    nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, own)
    return of_words(model, vocab, batch, device, seq)


BUILDERS = {"decoder": decoder, "experts": experts}
STYLES = {"data": data_parallel, "experts": data_parallel, "accumulated": accumulated, "zero": states_sharded, "fsdp": fully_sharded,
          "fsdp_narrow": sharded_narrow, "tensor": tensor_parallel, "pipeline": pipelined}
