"""Networks of several CUDA streams."""
import torch
from torch import nn

from workload import SGD, Workload, class_loss


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
