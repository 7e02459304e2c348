"""Shows by which files a call goes through Flambeau: what docs/tour.md says of three calls.

    python tests/_frames.py                    # m(x) and x[1:] += 2
    python tests/_frames.py jax                # the call of a compiled training step

It prints JSON: by the title of a call the [caller, callee] pairs of files, in the order in which they come up. A caller
is null where the call comes from outside.
"""

import json
import sys
from pathlib import Path

import flambeau as torch
from flambeau import nn

PACKAGE = Path(torch.__file__).parent
GENERATED = "ops/_templates.py"  # where the functions come from whose files have names like <call of a view>


def file_of(frame):
    """The file of a frame, from the package on; None outside of it."""
    name = frame.f_code.co_filename
    if name.startswith("<"):
        return GENERATED if frame.f_globals.get("__name__") == "flambeau.ops._templates" else None
    return Path(name).relative_to(PACKAGE).as_posix() if Path(name).is_relative_to(PACKAGE) else None


def calls_of(function):
    """The (caller, callee) pairs of files inside of the package that come up while `function` runs."""
    calls = []

    def note(frame, event, argument):
        callee = file_of(frame) if event == "call" else None
        if callee is not None:
            back = frame.f_back
            while back is not None and file_of(back) is None:
                back = back.f_back
            calls.append((back and file_of(back), callee))

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


if __name__ == "__main__":
    eager = {"m(x)": module_call, "x[1:] += 2": write_to_a_view}
    titles = {"compile(step)()": compiled_step} if "jax" in sys.argv else eager
    print(json.dumps({title: calls_of(make()) for title, make in titles.items()}))
