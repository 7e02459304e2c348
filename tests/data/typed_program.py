"""A user's program with types: mypy must accept it, and it must run. ``assert_type`` says what a checker should see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import Tensor, nn


def tensors() -> None:
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    y = torch.zeros(3, 4, device="cpu", requires_grad=True)
    assert_type(x @ y, Tensor)
    assert_type(2 * x + x / 3 - x**2, Tensor)
    assert_type(-x, Tensor)
    assert_type(x == 1, Tensor)
    assert_type((x > 1) & (x < 3), Tensor)
    assert_type(x[0, 1:], Tensor)
    x[0] = 1.0
    x += 1
    assert_type(x, Tensor)
    assert_type(x.T, Tensor)
    assert_type(x.shape, torch.Size)
    assert_type(x.shape[0], int)
    assert_type(x.size(0), int)
    assert_type(x.dtype, torch.dtype)
    assert_type(x.device, torch.device)
    assert_type(x.dim() + len(x), int)
    assert_type(float(x.sum()), float)
    assert_type([row.tolist() for row in x], list[Any])
    assert_type(x.is_floating_point(), bool)
    assert_type(x.view(-1).unsqueeze(0).expand(2, -1).contiguous(), Tensor)
    assert_type(x.permute(1, 0), Tensor)
    assert_type(x.permute((1, 0)), Tensor)
    assert_type(x.to("cpu", torch.float64).to(x).double().type(), str)
    assert_type(x.dtype == torch.float, bool)


def reductions() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    assert_type(x.sum(), Tensor)
    assert_type(x.sum(0), Tensor)
    assert_type(torch.sum(x, dim=(0, 1), keepdim=True), Tensor)
    assert_type(x.max(), Tensor)
    values, indices = x.max(dim=1)
    assert_type(values, Tensor)
    assert_type(torch.topk(x, 2).indices, Tensor)
    assert_type(torch.linalg.svd(x).S, Tensor)
    assert_type(x.unbind(), tuple[Tensor, ...])
    assert_type(torch.split(x, [1, 3]), tuple[Tensor, ...])
    assert_type(torch.nonzero(x, as_tuple=True), tuple[Tensor, ...])
    assert_type(torch.allclose(x, x), bool)
    assert_type(torch.cat([x, indices[:, None].float()], dim=1), Tensor)
    assert_type(torch.where(x > 0, x, 0.0), Tensor)
    assert_type(torch.einsum("ij,kj->ik", x, x), Tensor)
    assert_type(torch.special.expit(torch.fft.rfft(x).abs()), Tensor)


def autograd() -> None:
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * torch.tensor([1.0, 2.0, 3.0])).sum()
    y.backward()
    assert_type(x.grad, Tensor | None)
    assert x.grad is not None
    assert_type(x.grad.norm().item() > 0, Any)
    (g,) = torch.autograd.grad((x * x).sum(), x)
    assert isinstance(g, Tensor)
    with torch.no_grad():
        assert_type(x.add_(1, alpha=2).zero_(), Tensor)
    handle = x.register_hook(lambda grad: grad)
    handle.remove()
    assert_type(x.detach().requires_grad_(), Tensor)
    assert_type(halved(4), Tensor)


@torch.no_grad()
def halved(n: int) -> Tensor:
    return torch.full((n,), 0.5)


class Net(nn.Module):
    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc = nn.Linear(3, width)
        self.layers = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 2))
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x: Tensor, *, double: bool = False) -> Tensor:
        h = F.relu(self.fc(x)) * self.gain + self.scale
        assert_type(h, Tensor)
        out: Tensor = self.layers(torch.nn.functional.gelu(h))
        return 2 * out if double else out


def modules() -> None:
    net = Net(8).to(torch.float32).train()
    assert_type(net, Net)
    assert_type(net.fc.weight, Tensor)
    loss = F.cross_entropy(net(torch.randn(5, 3), double=True), torch.tensor([0, 1, 0, 1, 1]))
    assert_type(loss, Tensor)
    loss.backward()
    assert_type(net.parameters(), Iterator[nn.Parameter])
    with torch.no_grad():
        for name, p in net.named_parameters():
            assert_type(name, str)
            if p.grad is not None:
                p -= 0.1 * p.grad
    net.zero_grad()
    net.load_state_dict(net.state_dict())


def main() -> None:
    tensors()
    reductions()
    autograd()
    modules()


if __name__ == "__main__":
    main()
