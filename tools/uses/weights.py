"""Weights and data from a generator of NumPy, so that they do not depend on the library that computes with them."""

import numpy as np
import torch


def fill(model, seed=0):
    """Fills the parameters and buffers of a model, small enough for deep ones; returns the model."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if not tensor.is_floating_point():
                continue
            if name.endswith("running_var"):
                values = rng.uniform(0.8, 1.2, tuple(tensor.shape))
            else:
                spread = 1 / np.sqrt(max(1, np.prod(tensor.shape[1:])))
                scale = tensor.dim() == 1 and name.endswith("weight")  # of a normalization
                values = rng.standard_normal(tuple(tensor.shape)) * (0.1 if scale else spread) + scale
            tensor.copy_(torch.from_numpy(np.asarray(values)).to(tensor.dtype))
    return model


def draw(*shape, seed=1):
    """Numbers between 0 and 1."""
    return torch.from_numpy(np.random.default_rng(seed).random(shape, dtype=np.float32))


def show(name, *tensors):
    """Prints a few numbers of each tensor, and its sum of magnitudes."""
    for tensor in tensors:
        flat = tensor.detach().flatten().double()
        few = flat[:: max(1, len(flat) // 4)][:5].tolist()
        print(name, tuple(tensor.shape), *(f"{value:.4f}" for value in [*few, flat.abs().mean().item()]))


def show_gradients(name, model, count=3):
    """The same of the gradients of some parameters."""
    parameters = [(key, p) for key, p in model.named_parameters() if p.grad is not None]
    for key, p in parameters[:: max(1, len(parameters) // count)][:count]:
        print(name, key, f"{p.grad.norm().item():.4f}")
