"""Custom autograd functions: rounding with a straight-through gradient, to learn integer weights."""

import torch
from torch import nn
from torch.autograd import Function, gradcheck


class Round(Function):
    """Rounds; backward passes the gradient through unchanged."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Cube(Function):
    """The cube, whose gradient gradcheck can verify."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


class WholeLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Round.apply(self.weight), self.bias)


def main():
    torch.manual_seed(0)
    x = torch.randn(3, dtype=torch.double, requires_grad=True)
    print("the gradient of Cube is right:", gradcheck(Cube.apply, (x,)))

    target = torch.tensor([[2.0, -3.0, 5.0]])
    layer = WholeLinear(3, 1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    for step in range(1, 201):
        inputs = torch.randn(32, 3)
        loss = nn.functional.mse_loss(layer(inputs), inputs @ target.T)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}, weights {layer.weight.detach().round().tolist()}")


if __name__ == "__main__":
    main()
