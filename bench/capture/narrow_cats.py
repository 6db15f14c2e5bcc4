"""Times of tensors put side by side along their last dimension, a few elements of each at a time. Writes CSV:
python narrow_cats.py >narrow_cats.csv."""
import torch

from item_products import timed

WIDTHS, SOURCES = (1, 2, 3, 4, 8, 16, 32, 64, 128, 512), (2, 3, 4, 8, 16)
ROWS = (4096, 65536, 1048576, 6291456)


def main():
    print("device,type,rows,width,sources,us,kernel")
    for type in (torch.float32, torch.float16):
        for rows in ROWS:
            for width in WIDTHS:
                for sources in SOURCES:
                    if rows * width * sources > 6e7 or rows * width * sources < 3e5:
                        continue
                    parts = [torch.randn(rows, width, device="cuda", dtype=type) for _ in range(sources)]
                    name, _, us = timed(lambda: torch.cat(parts, -1))
                    short = name.replace("at::native::(anonymous namespace)::", "")[:90]
                    print(f"{torch.cuda.get_device_name()},{str(type)[6:]},{rows},{width},{sources},{us:.2f},\"{short}\"", flush=True)


if __name__ == "__main__":
    main()
