"""Fit a two-layer network to a sine wave with nothing but tensors and autograd."""

import flambeau as torch

torch.manual_seed(0)

x = torch.randn(256, 1)
y = torch.sin(2 * x)

w1 = torch.randn(1, 32, requires_grad=True)
b1 = torch.zeros(32, requires_grad=True)
w2 = (0.2 * torch.randn(32, 1)).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)

for step in range(1001):
    prediction = torch.matmul(torch.tanh(torch.matmul(x, w1) + b1), w2) + b2
    loss = torch.mean((prediction - y) ** 2)
    loss.backward()

    with torch.no_grad():
        for p in (w1, b1, w2, b2):
            p -= 0.1 * p.grad
            p.grad = None

    if step % 200 == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")
