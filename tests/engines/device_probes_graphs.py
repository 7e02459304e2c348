"""Foot-guns of graphs and of modes of differentiation on a device."""

import warnings
from importlib import import_module

from engines.device_probes import arange, error_of, probe


@probe
def no_grad_and_inference_mode(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    with torch.no_grad():
        a = x * 2
    with torch.inference_mode():
        b = x * 2
        c = b.add_(1)
    outside = error_of(lambda: b.add_(1))
    saved = error_of(lambda: (b * x).sum().backward())
    return a, b.is_inference(), c is b, outside, saved


@probe
def a_view_from_no_grad_that_is_written_to(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    y = x * 1
    with torch.no_grad():
        v = y[1:]
    return error_of(lambda: v.mul_(2)), y


@probe
def retained_graphs(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    return first, x.grad, error_of(y.backward)


@probe
def double_backward_with_a_penalty(torch, device):
    w = torch.ones(3, device=device, requires_grad=True)
    x = arange(torch, device, 3).requires_grad_()
    out = (w * x).sin().sum()
    slope, = torch.autograd.grad(out, x, create_graph=True)
    (out + slope.pow(2).sum()).backward()
    return slope, w.grad, x.grad


@probe
def hessians(torch, device):
    x = arange(torch, device, 3)
    f = lambda t: (t**3).sum() * t[0].exp()  # noqa: E731
    return torch.autograd.functional.hessian(f, x), torch.func.hessian(f)(x), torch.func.jacrev(lambda t: t * t)(x)


@probe
def checkpoints_that_write_outside(torch, device):
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    calls = torch.zeros((), device=device)

    def f(t):
        calls.add_(1)
        return (t * 2).sin()

    x = arange(torch, device, 3).requires_grad_()
    checkpoint(f, x, use_reentrant=False).sum().backward()
    y = x.detach().clone().requires_grad_()
    checkpoint(f, y, use_reentrant=True).sum().backward()
    return calls, x.grad, y.grad


@probe
def functions_that_mark_dirty(torch, device):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = arange(torch, device, 3).requires_grad_()
    y = x * 1
    z = Doubled.apply(y)
    z.sum().backward()
    return y, z is y, x.grad


@probe
def functions_that_need_no_gradient(torch, device):
    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            signs = torch.sign(x)
            ctx.mark_non_differentiable(signs)
            ctx.scale = scale
            return x * scale, signs

        @staticmethod
        def backward(ctx, g, _):
            assert not ctx.needs_input_grad[1]
            return g * ctx.scale, None

    x = arange(torch, device, 3).requires_grad_()
    y, s = Sign.apply(x, 4.0)
    y.sum().backward()
    return x.grad, s.requires_grad, s


@probe
def retained_gradients_of_intermediates(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    y = x * 2
    y.retain_grad()
    z = y[1:]
    z.retain_grad()
    (z * z).sum().backward()
    return y.grad, z.grad, x.grad


@probe
def gradients_of_unused_inputs(torch, device):
    x, y = (arange(torch, device, 3).requires_grad_() for _ in range(2))
    out = (x * 2).sum()
    missing = torch.autograd.grad(out, [x, y], allow_unused=True, retain_graph=True)
    zeros = torch.autograd.grad(out, [x, y], materialize_grads=True, retain_graph=True)
    return missing, zeros, error_of(lambda: torch.autograd.grad(out, [x, y]))


@probe
def saved_tensor_hooks(torch, device):
    packed = []
    x = arange(torch, device, 3).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t * 1, lambda t: t * 2):
        y = (x * x).sum()
    y.backward()
    with torch.autograd.graph.save_on_cpu():
        z = x.exp().sum()
    z.backward()
    return len(packed), x.grad


@probe
def anomalies(torch, device):
    x = torch.zeros(2, device=device, requires_grad=True)
    with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
        return error_of(lambda: (x.sqrt() * 0).sum().backward())


@probe
def autocast_and_its_weight_cache(torch, device):
    model = torch.nn.Linear(4, 2).to(device)
    torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
    x = torch.full((1, 4), 0.3).to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        a = model(x)
        with torch.no_grad():
            model.weight.mul_(2)
        with torch.autocast(device, enabled=False):
            b = model(x)
    with torch.autocast(device, dtype=torch.bfloat16):
        c = model(x)
        loss = c.float().sum()
    loss.backward()
    return a.dtype == torch.bfloat16, a.float(), b, c.float(), model.weight.grad.dtype == torch.float32, model.weight.grad
