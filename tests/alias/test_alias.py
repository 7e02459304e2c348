"""``import torch`` under the alias. Each program runs in a subprocess, in which the alias is installed."""

import subprocess
import sys
import textwrap

import pytest

PRELUDE = "from flambeau import alias; alias.install()\n"


def run(program, prelude=PRELUDE, **options):
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(program)], capture_output=True, text=True, **options
    )


def lines(program, **options):
    done = run(program, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


PATHS = ["torch.nn", "torch.nn.functional", "torch.nn.modules.module", "torch.nn.modules.conv", "torch.nn.modules.instancenorm", "torch.nn.modules.sparse", "torch.nn.parameter", "torch.nn.utils.rnn", "torch.nn.init", "torch.optim", "torch.optim.sgd", "torch.autograd.function", "torch.autograd.grad_mode", "torch.utils.hooks", "torch.utils.model_zoo", "torch.cuda", "torch.backends.cudnn", "torch.backends.cuda", "torch.backends.mps", "torch.backends.cpu", "torch.jit", "torch.jit.annotations", "torch.hub", "torch.distributed", "torch.types", "torch.version", "torch.functional", "torch._dynamo", "torch._C", "torch.ops", "torch.fft", "torch.linalg", "torch.special", "torch.func", "torch.distributions", "torch.serialization", "torch.random", "torch.testing", "torch.accelerator", "torch._tensor"]


def test_every_path_imports():
    program = "".join(f"import {path}; print({path}.__name__)\n" for path in PATHS)
    assert len(lines(program)) == len(PATHS)


def test_modules_are_flambeaus():
    assert lines("""
        import flambeau, torch, torch.nn.modules.linear
        import torch.nn.functional as F
        from torch.nn.modules.instancenorm import InstanceNorm2d
        print(torch.nn is flambeau.nn, F is flambeau.nn.functional, torch.add is flambeau.add)
        print(torch.nn.modules.linear.Linear is flambeau.nn.Linear, InstanceNorm2d is flambeau.nn.InstanceNorm2d)
        print(flambeau.nn.__spec__.name, torch.distributions is flambeau.distributions)
    """) == ["True True True", "True True", "flambeau.nn True"]


def test_names_and_versions_are_torchs():
    assert lines("""
        import importlib.metadata, importlib.util, torch
        print(torch.__name__, torch.__version__, torch.__version__ >= (2, 6), torch.__version__ < "2.14")
        print(importlib.metadata.version("torch"), importlib.util.find_spec("torch").name)
        print(type(torch.ones(1)), type(torch.nn.Linear(1, 1)), type(torch.nn.Parameter()))
        print(type(torch.nn.InstanceNorm1d(1)), type(torch.Size()), torch.nn.MultiheadAttention.__module__)
        print(type(torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(1, 1))), torch._dynamo.OptimizedModule)
        x = torch.ones(1, requires_grad=True)
        class Same(torch.autograd.Function):
            forward, backward = staticmethod(lambda ctx, x: x * 1), staticmethod(lambda ctx, g: g)
        print(type(x.exp().grad_fn), type(Same.apply(x).grad_fn), str(Same.apply(x).grad_fn).split(" object")[0])
    """) == [
        "torch 2.13.0+flambeau True True",
        "2.13.0+flambeau torch",
        "<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> <class 'torch.nn.parameter.Parameter'>",
        "<class 'torch.nn.modules.instancenorm.InstanceNorm1d'> <class 'torch.Size'> torch.nn.modules.activation",
        "<class 'torch.nn.utils.parametrize.ParametrizedLinear'> <class 'torch._dynamo.eval_frame.OptimizedModule'>",
        "<class 'ExpBackward0'> <class 'torch.autograd.function.SameBackward'> <torch.autograd.function.SameBackward",
    ]


def test_annotations_resolve_under_pytorchs_names():
    assert lines("""
        import typing, torch
        print(typing.get_type_hints(torch.nn.Linear)["weight"])
    """) == ["<class 'torch.Tensor'>"]


def test_names_that_are_not_there():
    assert lines("""
        import importlib.util, torch
        print(hasattr(torch, "nonsense"), importlib.util.find_spec("torch.nonsense"), importlib.util.find_spec("torch.nn.x"))
        try:
            torch.nonsense
        except AttributeError as error:
            print(str(error).startswith("module 'torch' has no attribute 'nonsense'"))
        try:
            import torch.nonsense
        except ModuleNotFoundError as error:
            print(error.name)
        try:
            torch.ops.load_library("x.so")
        except OSError as error:
            print(error)
        print(torch.ops.aten.add is torch.add, hasattr(torch.ops.mine, "op"))
    """) == [
        "False None None", "True", "torch.nonsense", "x.so: Flambeau loads no compiled extensions of PyTorch", "True False",
    ]


def test_torchvision_is_not_installed():
    """An import says how to install it; who asks whether it is there hears that it is not."""
    assert lines("""
        import importlib.util, sys
        found = importlib.util.find_spec("torchvision")
        if found:  # as if it were not
            sys.path = [path for path in sys.path if "site-packages" not in path]
            sys.path_importer_cache.clear()
        print(importlib.util.find_spec("torchvision"))
        for statement in ("import torchvision", "from torchvision.transforms import v2"):
            try:
                exec(statement)
            except ModuleNotFoundError as error:
                print(error.name, "pip install --no-deps 'torchvision==0.28.*' pillow" in str(error))
    """) == ["None", "torchvision True", "torchvision True"]


def test_install_and_uninstall(tmp_path):
    """What was installed before is there again, and Flambeau's classes have their own names."""
    (tmp_path / "torch.py").write_text("__version__ = 'another'")
    assert lines(f"""
        import sys; sys.path.insert(0, {str(tmp_path)!r})
        import flambeau
        from flambeau import alias
        before = list(sys.path)
        for _ in range(2):
            alias.install(); alias.install()
            import torch
            print(torch.__version__, torch.Tensor, alias.is_installed())
            alias.uninstall(); alias.uninstall()
            import torch
            print(torch.__version__, flambeau.Tensor, alias.is_installed(), sys.path == before)
            del sys.modules["torch"]
    """, prelude="") == [
        "2.13.0+flambeau <class 'torch.Tensor'> True", "another <class 'flambeau.Tensor'> False True",
    ] * 2


def test_after_another_torch_was_imported(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = 'another'")
    done = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport torch\nfrom flambeau import alias\nalias.install()", "")
    assert "RuntimeError: PyTorch another is imported already" in done.stderr


@pytest.mark.parametrize("how", ["spawn", "subprocess"])
def test_processes_that_are_started_have_the_alias(tmp_path, how):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import multiprocessing, subprocess, sys
        import torch

        def work(queue):
            queue.put(torch.__version__)

        if __name__ == "__main__" and sys.argv[1] == "spawn":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get())
            process.join()
        elif __name__ == "__main__":
            subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], check=True)
    """))
    done = subprocess.run([sys.executable, "-m", "flambeau", "run", script, how], capture_output=True, text=True, timeout=120)
    assert done.stdout == "2.13.0+flambeau\n", done.stderr


def test_pickles_name_pytorchs_classes():
    assert lines("""
        import pickle, torch
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.InstanceNorm1d(3))
        text = pickle.dumps(model)
        print(b"flambeau.nn.modules" in text, b"torch.nn.modules.instancenorm" in text, pickle.loads(text))
    """)[0] == "False True Sequential("


def test_subclasses_of_tensor_change_functions_of_torch_too():
    assert lines("""
        import torch
        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                print(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})
        x = torch.ones(1).as_subclass(Mine)
        print(type(torch.neg(x)).__name__)
    """)[-2:] == ["neg", "Mine"]


@pytest.mark.jax
def test_compile_knows_its_own_classes():
    """Classes that say they are torch's are still watched as Flambeau's."""
    assert lines("""
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def step(x):
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss
        torch.manual_seed(0)
        x = torch.randn(4, 2)
        compiled = torch.compile(step)
        print(*[compiled(x).item() > 0 for _ in range(3)], compiled)
    """)[0].startswith("True True True")
