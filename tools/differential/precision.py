"""The judge of rounding: where two libraries differ in values, the oracle runs the program once more, in float64.

A program may amplify rounding as much as it likes: by cancellation, or by a batch norm of samples that hardly differ.
Then the oracle itself is far from the float64 result, and we may be about as far. And it may decide by numbers that are
rounded: by the sign of a sum that is zero but for rounding. Then a change of its numbers in the last digit changes what
it decides, and we may have decided otherwise.
"""

import contextlib
import re
import warnings

import numpy as np

from .compare import TOLERANCE, close, is_tensor, leaves, memory, narrowest_dtype, numbers

WIDER = {
    r"\.to\(torch\.(bfloat16|float16)\)": r".to(torch.own_\1).double()",  # numbers that both libraries round alike
    r"torch\.(float32|bfloat16|float16)\b": "torch.float64",
    r"torch\.complex64\b": "torch.complex128",
    r"\.(float|half)\(\)": ".double()",
    "own_": "",
}
FARTHER = 16  # how many times the oracle's error we may have: the errors of two runs scatter
EPSILON = {"float64": 2.0**-52, "complex128": 2.0**-52, "float32": 2.0**-23, "complex64": 2.0**-23,
           "float16": 2.0**-10, "bfloat16": 2.0**-7}
LARGE = 100.0  # larger numbers than this do not excuse larger errors where the oracle's happens to be none
RUNS = 8  # with changes in the last digit
BEYOND = 1.5  # how far beyond the range of so few runs ours may lie, in parts of it: rounding scatters more widely
RUNS_OF_HALF = 40  # of so few digits that most changes are lost by the next rounding
LITERAL = re.compile(r"torch\.(tensor|zeros)\(|\(torch\.arange\(")  # steps whose numbers are not rounded
PLAUSIBLE = 0.1  # the oracle's error, relative to the program's largest number, beyond which its two runs differ


def is_rounding(pair, kind, where):
    """Whether a difference in values at a variable is explained by the precision in which the program computes."""
    if kind != "values" or "mine" in pair.text:
        return False
    tensors = [dict(leaves(values)).get(where) for values in pair.values()]
    narrowest = narrowest_dtype(value for _, value in leaves(pair.oracle))
    if (region := re.search(r"autocast\('cpu', dtype=torch\.(b?float16)", pair.text)) is not None:
        narrowest = region[1]
    # what draws in its own dtype draws other numbers in float64; autocast rounds in float64 too
    if region is not None or re.search("Lazy(Linear|Conv)|reset_parameters", pair.text):
        size = max(largest(value) for _, value in leaves(pair.oracle))
        return all(map(is_inexact, tensors)) and is_near_in_norm(*map(numbers, tensors), size, narrowest)
    exact = dict(leaves(in_double(pair)))
    tensors.append(exact.get(where))
    if not all(map(is_inexact, tensors)):
        return False
    ours, theirs, double = map(numbers, tensors)
    alike = [value for path, value in exact.items() if path.endswith(".grad") == where.endswith(".grad")]
    digit = max(map(largest, alike)) * EPSILON[narrowest]
    if is_as_near(ours, theirs, double, max(map(largest, exact.values())), narrowest, digit):
        return True
    return is_between(ours, [theirs, *nudged_results(pair, where)], narrowest)


def decides_by_rounding(pair):
    """Whether the oracle itself ends with other variables when its numbers are changed in the last digit."""
    found = {path for path, _ in leaves(pair.oracle)}
    return any({path for path, _ in leaves(replay(pair, nudger(np.random.default_rng(seed))))} != found
               for seed in range(RUNS))


def is_inexact(value):
    return isinstance(value, float) or (is_tensor(value) and (value.is_floating_point() or value.is_complex()))


def is_near_in_norm(ours, theirs, size, dtype):
    """Whether all errors are small, measured by the largest number that the program shows; others may be larger."""
    if dtype == "float16":  # what is rounded to infinity in one may be the largest number in the other
        ours, theirs = (np.clip(x.astype(np.float64), -65504.0, 65504.0) for x in (ours, theirs))
    return bool(np.isfinite(ours).all() and np.abs(ours - theirs).max(initial=0) <= 2 * TOLERANCE[dtype][0] * size)


def largest(value):
    """The largest finite magnitude in a tensor; 0 of anything else."""
    size = np.abs(numbers(value)) if is_tensor(value) and value.is_floating_point() else np.zeros(0)
    return float(size[np.isfinite(size)].max(initial=0))


def is_as_near(ours, theirs, exact, scale, dtype, digit):
    """Whether our numbers are as near to the exact ones as the oracle's, or as the last digit of the largest like them,
    where all are finite.
    """
    if exact.shape == ours.shape and np.isfinite(exact).all() and close(ours, exact, dtype):
        return True  # where the oracle may overflow on the way
    finite = np.isfinite(theirs)
    if exact.shape != theirs.shape or not np.isfinite(exact[finite]).all():
        return False
    overflowed = ~finite & np.isfinite(exact)  # in the oracle; we may have overflowed to something else, or not
    if not close(ours[overflowed & np.isfinite(ours)], exact[overflowed & np.isfinite(ours)], dtype):
        return False
    lasting = ~finite & ~overflowed
    if not np.array_equal(ours[lasting], theirs[lasting], equal_nan=True) or not np.isfinite(ours[finite]).all():
        return False
    if close(ours[finite], exact[finite], dtype):
        return True
    error, allowed = (np.abs(numbers[finite] - exact[finite]).max(initial=0) for numbers in (ours, theirs))
    known = max(FARTHER * allowed, TOLERANCE[dtype][1] * min(scale, LARGE), digit)
    return allowed <= PLAUSIBLE * scale and error <= known


def is_between(ours, results, dtype):
    """Whether our numbers lie among those of several runs of the oracle, or little beyond; nan is where one has it."""
    if ours.dtype.kind == "c":
        return False
    results = np.stack(results)
    rtol, atol = TOLERANCE[dtype]
    slack = atol + rtol * np.where(np.isinf(ours), 0, np.abs(ours))
    with warnings.catch_warnings(action="ignore"):  # of elements that are nan in all runs
        low, high = np.nanmin(results, 0), np.nanmax(results, 0)
        slack = slack + BEYOND * np.nan_to_num(high - low, posinf=0)
    inside = (low - slack <= ours) & (ours <= high + slack)
    return bool(np.where(np.isnan(ours), np.isnan(results).any(0), inside).all())


def nudged_results(pair, where):
    """A variable as the oracle computes it when the numbers of all steps before are changed in the last digit."""
    theirs = dict(leaves(pair.oracle))[where]
    half = narrowest_dtype(value for _, value in leaves(pair.oracle)) in ("float16", "bfloat16")
    for seed in range(RUNS_OF_HALF if half else RUNS):
        found = dict(leaves(replay(pair, nudger(np.random.default_rng(seed))))).get(where)
        if is_inexact(found) and numbers(found).shape == numbers(theirs).shape:
            yield numbers(found)


def nudger(generator):
    def execute(step, scope, library):
        exec(compile(step.text, "program", "exec"), scope)
        if LITERAL.match(step.text.partition(" = ")[2]):
            return
        converted = re.match(r"(\w+)\.(?:to\(|half|bfloat16)", step.text)
        for _, value in leaves(scope.get(converted[1] if converted else step.target)):
            if is_tensor(value) and is_inexact(value) and value.is_leaf and not value.is_complex():
                nudge(library, value, generator)

    return execute


def nudge(library, value, generator):
    """Changes the numbers in the last digit."""
    if value.element_size() >= 4:
        array = memory(value)
        array *= 1 + generator.integers(-2, 3, array.shape) * np.finfo(array.dtype).eps
    else:
        steps = library.from_numpy(generator.integers(-1, 2, tuple(value.shape)))
        value.data.mul_((1 + steps * library.finfo(value.dtype).eps).to(value.dtype))


def in_double(pair):
    """The variables of a program as the oracle computes them in float64; none if it cannot."""
    epsilon = narrowest_epsilon(pair)
    return replay(pair, lambda step, scope, library: execute_in_double(step, scope, library, epsilon))


def replay(pair, execute):
    """The variables of a program that the oracle runs once more, in a way of executing steps; none if it cannot."""
    library = pair.scopes[1]["torch"]
    scope = {name: pair.scopes[1][name] for name in pair.hidden if name in pair.scopes[1]}
    state, default = library.get_rng_state(), library.get_default_dtype()
    library.manual_seed(0)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
            for step in pair.steps:
                execute(step, scope, library)
            return {name: value for name, value in scope.items() if name not in pair.hidden}
    finally:
        library.set_rng_state(state)
        library.set_default_dtype(default)
    return {}


def narrowest_epsilon(pair):
    """The epsilon that a norm without one of its own takes from the dtype in which it computes."""
    library = pair.scopes[1]["torch"]
    dtype = narrowest_dtype(value for _, value in leaves(pair.oracle))
    return library.finfo(getattr(library, dtype)).eps if dtype else None


def execute_in_double(step, scope, library, epsilon):
    """One step. A layer draws its parameters as it would otherwise, and is converted then."""
    text = step.text
    for narrow, wide in WIDER.items():
        text = re.sub(narrow, wide, text)
    makes_layers = re.search(r"nn\.[A-Z]", text)
    library.set_default_dtype(library.float32 if makes_layers else library.float64)
    exec(compile(text, "program", "exec"), scope)
    if makes_layers:
        for value in list(scope.values()):
            if hasattr(value, "named_modules"):
                value.double()
                for module in value.modules():
                    module.eps = epsilon if getattr(module, "eps", 0) is None else getattr(module, "eps", 0)
