"""einops: its layers in a network, and its functions."""

import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn
from weights import draw, fill, show, show_gradients

model = fill(
    nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        EinMix("b n d -> b n e", weight_shape="d e", bias_shape="e", d=128, e=32),
        nn.GELU(),
        EinMix("b n (g d) -> b n g", weight_shape="g d", g=4, d=8),
        Reduce("b n g -> b g", "mean"),
    )
)
out = model(draw(2, 3, 16, 16))
out.square().sum().backward()
print(model)
show("out", out)
show_gradients("gradient", model)
x = draw(2, 3, 4, 5)
show(
    "functions",
    rearrange(x, "b c h w -> b (h w) c"),
    reduce(x, "b c (h k) w -> b c h w", "max", k=2),
    repeat(x[0, 0], "h w -> h k w", k=3),
)
show("einsum", torch.einsum("bchw,bdhw->bcd", x, x))
