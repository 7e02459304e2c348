"""The search: programs are drawn until two libraries disagree, and what disagrees is shrunk."""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import NamedTuple

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from . import (
    autograd,
    distributions,
    files,
    functionals,
    layers,
    losses,
    modules,
    ops,
    parameters,
    randomness,
    sequences,
    training,
    transforms,
    views,
)
from .deliberate import is_deliberate
from .program import Pair, header
from .writer import Found, Over, Writer

FAMILIES = {module.__name__.rpartition(".")[2]: module for module in (
    ops, views, autograd, modules, layers, functionals, losses, sequences, parameters, training, files, transforms,
    randomness, distributions)}
EXAMPLES = 100  # programs a round; then comes the next family


class Finding(NamedTuple):
    family: str
    steps: list
    disagreement: object

    def __str__(self):
        text = "\n".join(step.text for step in self.steps)
        return f"{header(text)}{text}\n# {self.disagreement}"


class TimeUp(BaseException):
    """Ends a round of hypothesis; no Exception, for that would count as a failing program."""


class Search:
    """Looks for disagreements of two libraries, each once."""

    def __init__(self, ours, theirs, folder, seed=0, shrink_seconds=4):
        self.ours, self.theirs, self.seed = ours, theirs, seed
        self.shrink_seconds = shrink_seconds  # the most that hypothesis may take; `reduced` does the rest
        self.folders = [folder / library.__name__ for library in (ours, theirs)]  # for the files of programs
        for folder in self.folders:
            folder.mkdir()
        self.known = set()  # signatures of what was found
        self.programs = self.steps = 0

    def run(self, families, seconds):
        """Searches for so long, and yields each finding when it is there."""
        end = time.monotonic() + seconds
        for number in itertools.count():
            if time.monotonic() > end:
                return
            family = families[number % len(families)]
            disagreement = self.round(family, self.seed * 1_000_003 + number, end)
            if disagreement is not None:
                yield self.finding(family, disagreement)

    def round(self, family, seed, end):
        """Some programs of one family, until one disagrees; that one is shrunk and returned."""
        best = None
        shrink_end = None

        def check(disagreement):
            nonlocal best, shrink_end
            if time.monotonic() > (shrink_end or end):
                raise TimeUp
            if disagreement is None or disagreement.signature in self.known:
                return
            if best is not None and disagreement.signature != best.signature:
                return  # another cause: its turn comes when this one is known
            shrink_end = shrink_end or time.monotonic() + self.shrink_seconds
            steps = disagreement.pair.steps
            if best is None or weight(steps) <= weight(best.pair.steps):
                best = disagreement
            raise AssertionError(disagreement.signature)

        with contextlib.suppress(TimeUp, AssertionError, hypothesis.errors.Flaky):
            self.hypothesis_test(check, family, seed)()
        return best

    def hypothesis_test(self, check, family, seed):
        settings = hypothesis.settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=hypothesis.Verbosity.quiet,
        )
        return hypothesis.seed(seed)(settings(hypothesis.given(self.outcomes(family))(check)))

    def outcomes(self, family):
        """The strategy of what programs end in: a Disagreement, or None."""
        return st.composite(self.outcome)(family)

    def outcome(self, draw, family):
        """Draws and runs one program."""
        pair = self.pair()
        disagreement = None
        try:
            FAMILIES[family].write(Writer(draw, pair))
        except Found as found:
            disagreement = found.disagreement
        except Over:
            pass
        self.programs += 1
        self.steps += len(pair.steps)
        if disagreement is not None and is_deliberate(disagreement):
            return None
        return disagreement

    def pair(self):
        for folder in self.folders:
            (folder / "f.pt").unlink(missing_ok=True)  # not overwritten: it may still be mapped
        return Pair(self.ours, self.theirs, self.folders, is_deliberate)

    def finding(self, family, disagreement):
        """What is reported of a disagreement, which is known from now on: the steps that it needs."""
        self.known.add(disagreement.signature)
        disagreement = self.reduced(disagreement)
        self.known.add(disagreement.signature)
        return Finding(family, disagreement.pair.steps, disagreement)

    def reduced(self, disagreement):
        """The same without idle steps, and with the eldest variables as arguments: fewer lines to read."""
        for candidate in self.shorter(disagreement.pair.steps):
            shorter = self.replay(candidate)
            if shorter is not None and shorter.signature == disagreement.signature:
                return self.reduced(shorter)
        return disagreement

    @staticmethod
    def shorter(steps):
        """Programs that are a little simpler."""
        for i in reversed(range(len(steps) - 1)):
            yield steps[:i] + steps[i + 1 :]
        names = [step.target for step in steps if step.target]
        for i, step in enumerate(steps):
            for field, value in step.arguments.items():
                earlier = names[: names.index(value)] if value in names else ()
                for name in set(earlier) - set(step.arguments.values()):
                    yield [*steps[:i], step._replace(arguments={**step.arguments, field: name}), *steps[i + 1 :]]

    def replay(self, steps):
        """The Disagreement that a program ends in, or None."""
        pair = self.pair()
        for step in steps:
            disagreement = pair.do(step)
            if disagreement is not None:
                return None if is_deliberate(disagreement) or lacks_a_name(disagreement) else disagreement
            if pair.failed:
                return None
        return None


def lacks_a_name(disagreement):
    """Whether a step that another needs was left out."""
    return disagreement.kind == "exception" and "NameError" in disagreement.ours + disagreement.theirs


def weight(steps):
    return sum(len(step.text) for step in steps)
