"""The report of a training check."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

__all__ = ["Finding", "TrainingReport"]

ALL_WELL = "{steps} steps were observed, and {checks} checks found no problems."


class Finding(NamedTuple):
    """A definite or probable problem."""

    check: str  # the name of the check
    message: str
    cure: str

    def __str__(self):
        lines = textwrap.wrap(self.message, 100) + textwrap.wrap(self.cure, 94, initial_indent="cure: ")
        return f"[{self.check}] " + "\n    ".join(lines)


class TrainingReport:
    """The findings, most important first. It is true if there are none.

    Attributes:
        findings: the list of findings.
        steps: the number of observed steps.
        checks: the number of checks that ran.
    """

    def __init__(self, findings, steps, checks):
        self.findings, self.steps, self.checks = findings, steps, checks

    def __bool__(self):
        return not self.findings

    def __contains__(self, check):
        return any(finding.check == check for finding in self.findings)

    def __str__(self):
        if not self.findings:
            return ALL_WELL.format(steps=self.steps, checks=self.checks)
        return "\n".join(map(str, self.findings))

    __repr__ = __str__
