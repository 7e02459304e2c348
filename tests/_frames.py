"""Shows by which files a call goes through Flambeau: what docs/tour.md says of three calls.

    python tests/_frames.py                    # m(x), x[1:] += 2 and a session
    python tests/_frames.py jax                # the call of a compiled training step

It prints JSON: by the title of a call the [caller, callee] pairs of [file, function], in the order in which they come
up. A caller is null where the call comes from outside.
"""

import copy
import io
import json
import sys
from pathlib import Path

import flambeau as torch
from flambeau import nn

PACKAGE = Path(torch.__file__).parent
GENERATED = "ops/_codegen.py"  # where the functions come from whose files have names like <call of a view>


def place_of(frame):
    """(file, function) of a frame, the file from the package on; None outside of it."""
    name = frame.f_code.co_filename
    if name.startswith("<"):
        file = GENERATED if frame.f_globals.get("__name__") == "flambeau.ops._codegen" else None
    else:
        file = Path(name).relative_to(PACKAGE).as_posix() if Path(name).is_relative_to(PACKAGE) else None
    return file and (file, frame.f_code.co_name)


def calls_of(function):
    """The (caller, callee) pairs of places inside of the package that come up while `function` runs."""
    calls = []

    def note(frame, event, argument):
        callee = place_of(frame) if event == "call" else None
        if callee is not None:
            back = frame.f_back
            while back is not None and place_of(back) is None and back.f_code.co_filename != __file__:
                back = back.f_back
            calls.append((back and place_of(back), callee))

    for _ in range(3):
        function()  # what is made once, is made; a compiled function is compiled
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return list(dict.fromkeys(calls))


def module_call():
    m, x = nn.Linear(3, 2), torch.ones(4, 3)
    return lambda: m(x)


def write_to_a_view():
    x = torch.ones(4, requires_grad=True) * 2

    def write():
        x[1:] += 2

    return write


def compiled_step():
    m, x = nn.Linear(3, 2), torch.ones(4, 3)
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)

    @torch.compile
    def step():
        optimizer.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight, weight

    @staticmethod
    def backward(ctx, g, g_weight):
        x, weight = ctx.saved_tensors
        return g * weight, (g * x).sum() + g_weight


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(constant)
        return x.mul_(2), constant

    @staticmethod
    def backward(ctx, g, _):
        return g * 2, None


def session():
    """Some of everything: what is called through objects, in whatever way it was found, is seen here."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(4))
    model(torch.ones(2, 2, 5, 5))
    optimizer = torch.optim.AdamW(model.parameters())

    def run():
        torch.manual_seed(0)
        images = torch.randn(2, 2, 5, 5)
        loss = nn.functional.cross_entropy(model(images), torch.tensor([1, 3])) + torch.arange(3) @ torch.arange(3)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        file = io.BytesIO()
        torch.save(copy.deepcopy(model).state_dict(), file)
        file.seek(0)
        model.load_state_dict(torch.load(file))

        x, weight = torch.rand(3, 4, requires_grad=True), torch.tensor(2.0, requires_grad=True)
        y, same = Scale.apply(x, weight)
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        z, _ = Double.apply(y.clone(), torch.ones(2, requires_grad=True))
        z[1:, ::2] += y.sort(dim=0).values[0, :2]
        z.t()[0].mul_(3)
        z.view(-1).exp_()
        slope, = torch.autograd.grad((z / weight).pow(2).sum() + same, x, create_graph=True)
        torch.autograd.grad(slope.norm(), x, torch.tensor(1.0), retain_graph=True)
        torch.autograd.grad(y, x, torch.ones(2, 3, 4), is_grads_batched=True)
        torch.autograd.gradcheck(torch.linalg.inv, (torch.eye(2, dtype=torch.float64, requires_grad=True),))
        _ = z.grad_fn.next_functions, (x * 2).grad_fn._saved_other, repr(z), x.tolist(), x.numpy(force=True)

        torch.func.vmap(torch.func.grad(lambda row: row.cumsum(0).prod()))(x.detach())
        torch.func.jvp(torch.sigmoid, (x.detach(),), (torch.ones(3, 4),))
        torch.distributions.Normal(x, 1.0).log_prob(torch.bernoulli(x))
        torch.fft.fft(x.detach(), out=torch.empty(0, dtype=torch.complex64)).abs().half().to("meta").sum()
        torch.eye(3).to_sparse().coalesce() @ torch.ones(3, 2)
        torch.empty(2, 3).resize_(3, 2).set_(torch.ones(4)).data.copy_(torch.zeros(4, dtype=torch.int64))
        with torch.autocast("cpu"), torch.no_grad():
            model(images)

    return run


if __name__ == "__main__":
    eager = {"m(x)": module_call, "x[1:] += 2": write_to_a_view, "a session": session}
    titles = {"compile(step)()": compiled_step} if "jax" in sys.argv else eager
    print(json.dumps({title: calls_of(make()) for title, make in titles.items()}))
