"""torchvision: datasets read from small files that this script writes, and a loader over them."""

import gzip
import os
import pickle
import struct
import tempfile

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, io, transforms
from weights import show

rng = np.random.default_rng(0)
folder = tempfile.mkdtemp()

raw = os.path.join(folder, "MNIST", "raw")
os.makedirs(raw)
for prefix, count in (("train", 12), ("t10k", 6)):
    images, labels = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8), rng.integers(0, 10, count, dtype=np.uint8)
    for kind, header, data in (
        ("images-idx3", struct.pack(">IIII", 2051, count, 28, 28), images),
        ("labels-idx1", struct.pack(">II", 2049, count), labels),
    ):
        name = os.path.join(raw, f"{prefix}-{kind}-ubyte")
        with open(name, "wb") as file, gzip.open(name + ".gz", "wb") as packed:
            file.write(header + data.tobytes())
            packed.write(header + data.tobytes())
mnist = datasets.MNIST(folder, train=True, transform=transforms.ToTensor())
print(len(mnist), mnist.classes[:2], [mnist[i][1] for i in range(4)])
torch.manual_seed(0)
for batch, labels in DataLoader(mnist, batch_size=5, shuffle=True):
    show("MNIST", batch)
    print(labels.tolist())


class Small(datasets.CIFAR10):
    """Without the check of the files' hashes: these are not the originals."""

    def _check_integrity(self):
        return True


base = os.path.join(folder, Small.base_folder)
os.makedirs(base)
for name, _ in [*Small.train_list, *Small.test_list]:
    with open(os.path.join(base, name), "wb") as file:
        pickle.dump(
            {"data": rng.integers(0, 256, (4, 3072), dtype=np.uint8), "labels": rng.integers(0, 10, 4).tolist()}, file
        )
Small.meta = {"filename": "batches.meta", "key": "label_names", "md5": None}
with open(os.path.join(base, "batches.meta"), "wb") as file:
    pickle.dump({"label_names": [f"class {i}" for i in range(10)]}, file)
cifar = Small(folder, train=True, transform=transforms.ToTensor(), target_transform=lambda label: label + 1)
print(len(cifar), cifar.classes[3], [cifar[i][1] for i in range(5)])
show("CIFAR", cifar[7][0])

for label in ("cats", "dogs"):
    os.makedirs(os.path.join(folder, "images", label))
    for i in range(3):
        Image.fromarray(rng.integers(0, 256, (10, 12, 3), dtype=np.uint8)).save(
            os.path.join(folder, "images", label, f"{i}.png")
        )
images = datasets.ImageFolder(
    os.path.join(folder, "images"), transforms.Compose([transforms.Resize(8), transforms.ToTensor()])
)
print(len(images), images.class_to_idx, [label for _, label in images])
show("ImageFolder", next(iter(DataLoader(images, batch_size=4, num_workers=1)))[0])

path = os.path.join(folder, "images", "cats", "0.png")
image = io.read_image(path)
print(image.dtype, image.shape, io.decode_image(io.read_file(path), io.ImageReadMode.GRAY).shape)
io.write_png(image, os.path.join(folder, "again.png"))
print(torch.equal(io.read_image(os.path.join(folder, "again.png")), image), io.encode_jpeg(image).dtype)
