"""The command ``flambeau``."""

import argparse

from .._version import __version__

__all__ = ["main"]


def main(arguments=None):
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="flambeau", description="PyTorch's programs, without PyTorch.")
    parser.add_argument("--version", action="version", version=f"flambeau {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run = commands.add_parser(
        "run", help="run a script written for PyTorch", usage="flambeau run [-m MODULE | SCRIPT] [ARGUMENT ...]",
        description="Runs a script, or with -m a module, like python; `import torch` imports Flambeau.",
    )
    run.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="a module to run, and its arguments")
    run.add_argument("script", nargs=argparse.REMAINDER, help="a script to run, and its arguments")
    run.set_defaults(command=_run, parser=run)
    torch = commands.add_parser(
        "torch", help="make `import torch` import Flambeau in this environment",
        description="Installs a distribution named torch, which forwards to Flambeau, in this virtual environment; "
        "removes it; shows what is installed.",
    )
    torch.add_argument("action", choices=["install", "remove", "status"])
    torch.add_argument("--force", action="store_true", help="install outside a virtual environment too")
    torch.set_defaults(command=_torch)
    doctor = commands.add_parser(
        "doctor", help="show what is active, or which names scripts lack",
        description="Shows what is installed and active. With scripts: lists the names of torch that Flambeau lacks, "
        "and that they or the modules in the same directory that they import use. Nothing is executed.",
    )
    doctor.add_argument("scripts", nargs="*", metavar="SCRIPT", help="a script to read")
    doctor.add_argument("--libraries", action="store_true", help="read the libraries that they import, too")
    doctor.add_argument(
        "--training", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGUMENT]",
        help="run the first optimizer steps of a script, and report problems of its training",
    )
    doctor.set_defaults(command=_doctor, parser=doctor)
    inspect = commands.add_parser(
        "inspect", help="write a page that shows a model, or compares two checkpoints",
        description="Writes one HTML file: the modules, the flow of data, the values of a batch.",
    )
    inspect.add_argument("target", nargs="?", metavar="FILE.py:NAME", help="a Module, or what creates one")
    inspect.add_argument(
        "--input", action="append", default=[], metavar="1,3,32,32",
        help="the sizes of an input, prefixed by i for integers; repeat for each input",
    )
    inspect.add_argument("--compare", nargs=2, metavar=("A", "B"), help="two checkpoints to compare instead")
    inspect.add_argument("-o", "--output", default="inspect.html", help="the file to write (inspect.html)")
    inspect.set_defaults(command=_inspect, parser=inspect)
    parsed = parser.parse_args(arguments)
    return parsed.command(parsed)


def _run(parsed):
    from .run import run_module, run_script

    if parsed.module:
        return run_module(parsed.module[0], parsed.module[1:])
    if not parsed.script:
        parsed.parser.error("expected a script, or -m and a module")
    return run_script(parsed.script[0], parsed.script[1:])


def _torch(parsed):
    from . import torch

    if parsed.action == "install":
        return torch.install(parsed.force)
    return torch.remove() if parsed.action == "remove" else torch.status()


def _doctor(parsed):
    from . import doctor

    if parsed.training is not None:
        from . import training

        if not parsed.training:
            parsed.parser.error("--training expects a script")
        return training.check_script(parsed.training[0], parsed.training[1:])
    return doctor.check(parsed.scripts, parsed.libraries) if parsed.scripts else doctor.report()


def _inspect(parsed):
    from . import inspect

    if parsed.compare:
        return inspect.compare_files(*parsed.compare, parsed.output)
    if parsed.target is None:
        parsed.parser.error("expected FILE.py:NAME, or --compare and two files")
    return inspect.inspect_target(parsed.target, parsed.input, parsed.output)
