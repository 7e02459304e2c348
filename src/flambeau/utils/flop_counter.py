"""Counts the floating-point operations of a program, by op and by module.

Example::

    >>> from flambeau import nn, randn
    >>> from flambeau.utils.flop_counter import FlopCounterMode
    >>> model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    >>> with FlopCounterMode() as counter:
    ...     _ = model(randn(2, 8)).sum().backward()
    Module              FLOP    % Total
    --------------  --------  ---------
    Sequential      1792.000    100.00%
     - aten.addmm    768.000     42.86%
     - aten.mm      1024.000     57.14%
     Sequential.0   1024.000     57.14%
      - aten.addmm   512.000     28.57%
      - aten.mm      512.000     28.57%
     Sequential.2    768.000     42.86%
      - aten.addmm   256.000     14.29%
      - aten.mm      512.000     28.57%
    >>> counter.get_total_flops()
    1792
"""

from __future__ import annotations

import warnings
import weakref
from collections import defaultdict

from .._ops import Operator
from .._tensor import Tensor
from ..autograd._flops import flops_of
from ..autograd._recorder import Call, Calls
from ..nn.modules.module import Module

__all__ = ["FlopCounterMode", "register_flop_formula"]

MODS = "mods argument is not needed anymore, you can stop passing it"
NO_OPERATOR = "register_flop_formula(targets): expected each target to be an operator of torch.ops, got {got}"
UNITS = ("", "K", "M", "B", "T")

flop_registry: dict[Operator, object] = {}  # formulas of user-defined operators


def register_flop_formula(targets, get_raw=False):
    """A decorator: registers a function that counts the operations of a ``torch.library`` operator.

    It is called with the arguments of the operator, with shapes in place of tensors, and ``out_shape``; with `get_raw`
    it gets the tensors themselves, and ``out_val``.
    """
    def register(formula):
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, Operator):
                raise ValueError(NO_OPERATOR.format(got=target))
            flop_registry[target.default] = formula if get_raw else on_shapes(formula)
        return formula

    return register


def on_shapes(formula):
    """Converts a formula on shapes to one on tensors."""
    def shape(value):
        return value.shape if isinstance(value, Tensor) else value

    def count(*args, out_val=None, **kwargs):
        shapes = {name: shape(value) for name, value in kwargs.items()}
        return formula(*map(shape, args), out_shape=shape(out_val), **shapes)

    return count


class FlopCounterMode:
    """A context manager that counts the floating-point operations of matrix products, convolutions and attention.

    Backward is counted too, for the modules whose forward it belongs to.

    Args:
        mods: ignored; modules are found when they are called.
        depth: the depth of modules that ``get_table`` shows.
        display: whether to print the table at the end.
        custom_mapping: formulas by operator, as for ``register_flop_formula``.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            warnings.warn(MODS, stacklevel=2)
        self.depth, self.display = depth, display
        custom = {target.default: on_shapes(formula) for target, formula in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **custom}
        self.flop_counts = defaultdict(lambda: defaultdict(int))

    def __enter__(self):
        self.flop_counts.clear()
        self._counter = Counter(self.flop_counts, self.flop_registry)
        self._counter.start()
        return self

    def __exit__(self, *exc):
        self._counter.stop()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self):
        """The total number of operations."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self):
        """The number of operations by module path ("Global" for all) and op name."""
        return {path: dict(counts) for path, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """A text table of the operations: modules down to `depth`, and their ops."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = unit_of(total)
        rows = []
        for path in sorted(self.flop_counts):
            level = path.count(".")
            if path != "Global" and level < depth:
                rows += rows_of(path, self.flop_counts[path], level, total, unit)
        if not any(sum(self.flop_counts[path].values()) >= total for path in self.flop_counts if path != "Global"):
            rows = [[" " + name, *cells] for name, *cells in rows]
            rows = rows_of("Global", self.flop_counts.get("Global", {}), 0, total, unit) + rows
        return table_of(["Module", "FLOP", "% Total"], rows)


class Counter(Calls):
    """Adds up the operations of ops as they finish.

    Args:
        counts: the counts to update, by module and op.
        registry: formulas of user-defined operators.
    """

    def __init__(self, counts, registry):
        super().__init__()
        self.counts, self.registry = counts, registry
        self._paths = weakref.WeakKeyDictionary()  # of modules
        self._owners = weakref.WeakKeyDictionary()  # backward nodes -> the paths of the modules they were recorded in
        self.kinds[Module.__call__.__code__] = self._call_of_module
        self.kinds[Operator.__call__.__code__] = self._call_of_operator

    def on_end(self, call, result):
        """Counts an op for the modules being called, or those its backward node was recorded in."""
        first = result[0] if isinstance(result, tuple) and result else result
        if call.op is not None and isinstance(first, Tensor) and first._node is not None:
            self._owners.setdefault(first._node, self._open_paths())
        name, count = flops_of(call, result, self.stack)
        if call.kind == "operator":
            args, kwargs = call.operands
            name, count = call.name, self.registry[call.frame.f_locals["self"]](*args, out_val=result, **kwargs)
        if count:
            for path in {"Global", *self._paths_of(call)}:
                self.counts[path][name] += count

    def _open_paths(self):
        return [c.name for c in self.stack if c.kind == "module"]

    def _paths_of(self, call):
        nodes = [c.node for c in (*self.stack, call) if c.node is not None]
        return self._owners.get(nodes[-1], ()) if nodes else self._open_paths()

    def _call_of_module(self, frame):
        module = frame.f_locals["self"]
        path = self._paths.setdefault(module, type(module).__name__)
        for name, child in module.named_children():
            self._paths.setdefault(child, f"{path}.{name}")
        return Call(frame, path, "module")

    def _call_of_operator(self, frame):
        operator = frame.f_locals["self"]
        if operator not in self.registry:
            return None
        name = operator.name().replace("::", ".")
        return Call(frame, name, "operator", operands=(frame.f_locals["args"], frame.f_locals["kwargs"]))


def unit_of(count):
    """The index in UNITS of the unit that leaves at most four digits before the decimal point."""
    return min(max((len(str(count)) - 2) // 3, 0), len(UNITS) - 1)


def rows_of(path, counts, level, total, unit):
    """The row of a module, and those of its ops."""
    def cells(count):
        return f"{count / 1000**unit:.3f}{UNITS[unit]}", f"{count / total:.2%}" if total else "0%"

    return [[" " * level + path, *cells(sum(counts.values()))],
            *[[f"{' ' * level} - {name}", *cells(count)] for name, count in counts.items()]]


def table_of(titles, rows):
    """A text table with aligned columns, the first one left-aligned."""
    widths = [max(len(title) + 2, *[len(row[i]) for row in rows]) for i, title in enumerate(titles)]

    def line(first, *others):
        return "  ".join([first.ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(others, widths[1:])]])

    return "\n".join([line(*titles), line(*["-" * width for width in widths]), *[line(*row) for row in rows]])
