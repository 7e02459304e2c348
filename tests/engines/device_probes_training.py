"""Foot-guns of training steps on a device."""

from engines.device_probes import arange, error_of, probe


@probe
def an_error_in_the_middle_of_a_step(torch, device):
    p = torch.ones(3, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.9)
    for i in range(4):
        try:
            optimizer.zero_grad()
            loss = (p * p).sum()
            if i == 1:
                raise ValueError
            loss.backward()
            if i == 2:
                p @ torch.ones(4, device=device)
            optimizer.step()
        except (ValueError, RuntimeError):
            pass
    return p, p.grad, optimizer.state[p]["momentum_buffer"]


@probe
def an_error_in_a_hook(torch, device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x * 2

    def fail(g):
        raise KeyError

    handle = y.register_hook(fail)
    failed = error_of(lambda: y.sum().backward(retain_graph=True))
    handle.remove()
    y.sum().backward()
    return failed, x.grad


@probe
def an_error_in_a_backward_of_a_function(torch, device):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError

    x = torch.ones(2, device=device, requires_grad=True)
    return error_of(lambda: Fails.apply(x).sum().backward()), x.grad, (x * 3).sum()


@probe
def a_keyboard_interrupt_between_backward_and_step(torch, device):
    p = torch.ones(3, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([p], lr=0.1)
    for i in range(3):
        try:
            (p * p).sum().backward()
            if i == 1:
                raise KeyboardInterrupt
            optimizer.step()
            optimizer.zero_grad()
        except KeyboardInterrupt:
            pass
    return p, optimizer.state[p]["step"], p.grad


@probe
def hooks_that_read_items(torch, device):
    seen = []
    x = arange(torch, device, 3).requires_grad_()
    y = x * x
    y.register_hook(lambda g: seen.append(g.sum().item()))
    z = y * 3
    z.register_hook(lambda g: g * (2 if g.max().item() > 0.5 else 0))
    z.sum().backward()
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad[1].item()))
    (x * 2).sum().backward()
    return seen, x.grad


@probe
def module_hooks_that_read_items(torch, device):
    model, seen = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).to(device), []
    torch.nn.init.ones_(model[0].weight), torch.nn.init.zeros_(model[0].bias)
    for m in model:
        m.register_forward_hook(lambda m, args, out: seen.append(round(out.mean().item(), 3)))
        m.register_full_backward_hook(lambda m, g, out: seen.append(round(out[0].sum().item(), 3)))
    for scale in (1.0, 2.0):
        model(torch.ones(1, 2, device=device, requires_grad=True) * scale).sum().backward()
    return seen


@probe
def a_step_that_skips_by_its_loss(torch, device):
    p, losses = torch.full((2,), 4.0).to(device).requires_grad_(), []
    optimizer = torch.optim.SGD([p], lr=0.3)
    for _ in range(6):
        optimizer.zero_grad()
        loss = p.square().sum()
        losses.append(loss)
        if loss > 2:
            loss.backward()
            optimizer.step()
    return torch.stack(losses).detach(), p


@probe
def losses_that_are_summed_without_detaching(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    total = 0
    optimizer = torch.optim.SGD([p], lr=0.1)
    for _ in range(3):
        loss = (p * p).sum()
        total += loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return total, error_of(lambda: total.backward())


@probe
def gradients_read_after_zero_grad(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    (p * 3).sum().backward()
    held = p.grad
    torch.optim.SGD([p], lr=0.1).zero_grad(set_to_none=False)
    (p * 5).sum().backward()
    return held, p.grad, held is p.grad


@probe
def a_gradient_that_is_replaced(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    (p * 3).sum().backward()
    old = p.grad
    p.grad = old * 2
    (p * 1).sum().backward()
    wrong = error_of(lambda: setattr(p, "grad", torch.ones(3, device=device)))
    return old, p.grad, wrong


@probe
def gradients_on_the_wrong_device(torch, device):
    other = "cpu" if device != "cpu" else "meta"
    p = torch.ones(2, device=device, requires_grad=True)
    return error_of(lambda: setattr(p, "grad", torch.ones(2, device=other)))


@probe
def accumulated_gradients(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    optimizer, out = torch.optim.SGD([p], lr=0.1), []
    for i in range(6):
        ((p * (i + 1)).sum() / 3).backward()
        out.append(p.grad.clone())
        if i % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    return p, *out


@probe
def clipped_gradients(torch, device):
    ps = [torch.full((n,), 2.0).to(device).requires_grad_() for n in (1, 3)]
    sum([(p**2).sum() for p in ps]).backward()
    held = ps[1].grad
    norm = torch.nn.utils.clip_grad_norm_(ps, 1.0)
    value = [p.grad.clone() for p in ps]
    torch.nn.utils.clip_grad_value_(ps, 0.3)
    return norm, *value, held


@probe
def clipped_gradients_with_infinities(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    (p * torch.tensor([1.0, float("inf")], device=device)).sum().backward()
    refused = error_of(lambda: torch.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True))
    return refused, torch.nn.utils.clip_grad_norm_([p], 1.0), p.grad


@probe
def schedulers_change_the_rate(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=1.0)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=6)
    plateau, out = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0), []
    for _ in range(5):
        p.grad = torch.ones_like(p)
        optimizer.step()
        scheduler.step()
        out.append(p.detach().clone())
    plateau.step(p.sum().detach())
    plateau.step(p.sum().detach() + 1)
    return *out, optimizer.param_groups[0]["lr"]


@probe
def a_rate_that_is_a_tensor(torch, device):
    p, lr = torch.ones(2, device=device, requires_grad=True), torch.tensor(0.5)
    optimizer = torch.optim.Adam([p], lr=lr)
    for _ in range(3):
        p.grad = torch.ones_like(p)
        optimizer.step()
        lr.mul_(0.5)
    return p, optimizer.param_groups[0]["lr"]


@probe
def closures_of_lbfgs(torch, device):
    p, calls = torch.tensor([3.0, -2.0], device=device, requires_grad=True), []
    optimizer = torch.optim.LBFGS([p], lr=0.5, max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        calls.append(loss.item())
        return loss

    return optimizer.step(closure), p, len(calls)


@probe
def scaled_gradients_with_infinities(torch, device):
    p = torch.ones(2, device=device, requires_grad=True)
    optimizer, scaler, out = torch.optim.SGD([p], lr=0.1), torch.amp.GradScaler(device, init_scale=4.0), []
    for factor in (1.0, float("inf"), 1.0, float("nan"), 2.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        out.append(scaler.step(optimizer) is None)
        scaler.update()
        out.append(scaler.get_scale())
    return p, out


@probe
def moving_averages(torch, device):
    p, ema = torch.ones(3, device=device, requires_grad=True), torch.ones(3, device=device)
    optimizer, seen = torch.optim.SGD([p], lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        with torch.no_grad():
            ema.lerp_(p, 0.1)
            seen.append(ema.detach())
    return p, ema, seen[0]


@probe
def frozen_parameters(torch, device):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)).to(device)
    for q in model.parameters():
        torch.nn.init.ones_(q)
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD([q for q in model.parameters() if q.requires_grad], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(1, 2, device=device)).sum().backward()
        optimizer.step()
    return model[0].weight.grad, *model.parameters()


@probe
def tied_weights(torch, device):
    a, b = torch.nn.Linear(2, 2, bias=False).to(device), torch.nn.Linear(2, 2, bias=False).to(device)
    torch.nn.init.eye_(a.weight)
    b.weight = a.weight
    optimizer = torch.optim.Adam([*torch.nn.ModuleList([a, b]).parameters()], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        b(a(torch.ones(1, 2, device=device))).square().sum().backward()
        optimizer.step()
    return a.weight, b.weight is a.weight, len(optimizer.state)


@probe
def batch_statistics_in_train_and_eval(torch, device):
    norm = torch.nn.BatchNorm1d(2).to(device)
    x, out = arange(torch, device, 4, 2), []
    for i in range(3):
        norm.train(i != 1)
        out += [norm(x * (i + 1)), norm.running_mean.clone(), norm.num_batches_tracked.clone()]
    return out
