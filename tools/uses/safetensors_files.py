"""safetensors.torch: files of tensors and of models, shared tensors among them."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn
from weights import draw, fill, show

folder = tempfile.mkdtemp()
path = os.path.join(folder, "tensors.safetensors")
tensors = {
    "floats": draw(3, 4),
    "halves": draw(5).half(),
    "brain": draw(2, 2).bfloat16(),
    "integers": torch.arange(6).view(2, 3),
    "flags": torch.tensor([True, False]),
    "bytes": torch.arange(4, dtype=torch.uint8),
    "doubles": draw(2).double(),
}
save_file(tensors, path, metadata={"format": "pt"})
back = load_file(path)
print(
    sorted(back),
    all(torch.equal(back[name], tensors[name]) and back[name].dtype == tensors[name].dtype for name in tensors),
)
with safe_open(path, framework="pt") as file:
    print(sorted(file.keys()), file.metadata(), file.get_slice("floats")[1:, :2].shape)
    show("slice", file.get_slice("floats")[1:, :2])
print(torch.equal(load(save(tensors))["integers"], tensors["integers"]))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight


model, other = fill(Tied()), fill(Tied(), seed=5)
path = os.path.join(folder, "model.safetensors")
save_model(model, path)
print(load_model(other, path), os.path.getsize(path))
show("model", other.head.weight, other.embedding.weight)
try:
    save_file(model.state_dict(), path)
except RuntimeError as error:
    print(str(error).splitlines()[1].strip())
