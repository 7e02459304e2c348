"""Digests are equal in every process, differ if something does, and are None for what cannot be identified."""

import functools
import operator
import subprocess
import sys
import unittest.mock

import numpy as np
import pytest

pytestmark = pytest.mark.jax

KEYS = """
import functools, operator
import jax, jax.numpy as jnp, numpy as np
import flambeau as torch
from flambeau.engines.xla import engine
from flambeau.engines.xla._digests import digest
from flambeau.ops._op import OPS

KEYS = dict(
    plain=(1, 1.5, "a", None, True, ..., [2, {"b": 3}]), named=(jnp.tanh, operator.add, np.add, jnp.add, int, jax.nn.gelu),
    forms=(np.dtype("bfloat16"), torch.device("xla"), torch.contiguous_format, engine, np.float32(3), np.arange(3)),
    functions=[OPS[name].forward for name in ("mul", "linear", "convolution", "attention")], partial=functools.partial(jnp.sum, axis=0),
    equations=jax.make_jaxpr(lambda x: jnp.where(x > 0, x, jnp.sum(x)))(np.ones(3)),
)
"""
namespace: dict = {}


@pytest.fixture(scope="module")
def keys():
    pytest.importorskip("jax", reason="programs are jax's")
    exec(KEYS, namespace)
    return namespace["KEYS"]


@pytest.fixture
def digest(keys):
    return namespace["digest"]


def test_they_are_the_same_in_another_process(keys, digest):
    script = KEYS + "for key in KEYS.values(): print(digest(key))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert found == [digest(key) for key in keys.values()]
    assert len({*found}) == len(found)


def adding(n, m=0):
    """Functions of this package's, as far as their globals say."""
    code = compile(f"lambda x: x + {n} + k(x)", "<string>", "eval")
    return eval(code, {"__name__": "flambeau.ops.pointwise", "k": [abs, len][m]})


@pytest.mark.parametrize(("one", "other"), [
    (1, 1.0), (0.0, -0.0), (True, 1), ("1", 1), ((1, 2), [1, 2]), ([[1], 2], [[1, 2]]), ({"a": 1}, {"b": 1}),
    (("a\nb",), ("a", "b")), (np.dtype("int32"), np.dtype("int64")), (np.float32(1), np.float64(1)),
    (np.zeros((2, 1)), np.zeros((1, 2))), (operator.add, operator.sub), (adding(1), adding(2)),
    (np.array([1], ">i4"), np.array([1 << 24], "<i4")), (adding(1, 0), adding(1, 1)), (functools.partial(operator.add, 1), functools.partial(operator.add, 2)),
], ids=lambda value: type(value).__name__)
def test_they_differ(digest, one, other):
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


def test_equations_differ(digest):
    import jax
    import jax.numpy as jnp

    functions = [lambda x, y: x + y, lambda x, y: y + x, lambda x, y: x - y, lambda x, y: (x + y, y), lambda x, y: x + 1,
                 lambda x, y: x + 2, lambda x, y: jnp.tanh(x + y), lambda x, y: jax.jit(lambda x: x + y)(x),
                 lambda x, y: x + np.arange(3.0), lambda x, y: x + np.arange(1.0, 4.0)]
    found = [digest(jax.make_jaxpr(f)(*[np.ones(3, dtype) for dtype in dtypes]))
             for f in functions for dtypes in [(np.float32, np.float32), (np.float64, np.float32)]]
    assert len({*found}) == len(found)


class Users:
    def method(self):
        pass


def test_what_cannot_be_told_has_none(digest):
    import jax

    from flambeau.engines.xla._digests import NoDigest

    renamed = functools.wraps(jax.numpy.tanh)(lambda x: x)
    for value in (lambda x: x, Users, Users(), Users().method, renamed, jax.jit(lambda x: x), object(), {1},
                  np.zeros(100_000), np.array([None]), renamed.__code__, functools.partial(lambda x: x),
                  jax.make_jaxpr(lambda x: jax.pure_callback(abs, x, x))(1.0), jax.random.key(0)):
        with pytest.raises(NoDigest):
            digest(value)


@pytest.fixture
def environment(keys):
    import jax

    from flambeau.engines.xla import _digests, _sources

    def forget():
        _sources.Replaced.name = None
        _digests.platform_of.cache_clear()
        _digests._environment.cache_clear()

    def find():
        forget()
        return _digests.environment(jax.local_devices(backend="cpu")[0])

    yield find
    forget()


def test_environments_differ(environment, monkeypatch):
    import jax

    from flambeau.engines.xla import _digests

    found = [environment()]
    with jax.default_matmul_precision("bfloat16"):
        found.append(environment())
    with jax.enable_x64(False):
        found.append(environment())
    assert environment() == found[0]
    monkeypatch.setattr(_digests, "digest_of_sources", functools.partial(str, "other sources"))
    found.append(environment())
    monkeypatch.setattr(_digests.jax, "__version__", "0.0")
    found.append(environment())
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    found.append(environment())
    assert len({*found}) == len(found)
    monkeypatch.undo()
    assert environment() == found[0]


@pytest.fixture
def package(tmp_path, monkeypatch, keys):
    from flambeau.engines.xla import _sources

    monkeypatch.setattr(_sources, "PACKAGE", tmp_path)
    monkeypatch.setattr(_sources, "IMPORTED_AT", float("inf"))
    (tmp_path / "ops").mkdir()
    (tmp_path / "__init__.py").write_text("")
    return _sources


def test_sources_are_those_of_the_package(tmp_path, package):
    seen = set()
    for name, text in [("a", "1"), ("a", "2"), ("b", "2")]:
        (tmp_path / "ops" / f"{name}.py").write_text(text)
        seen.add(package.digest_of_sources.__wrapped__())
    assert len(seen) == 3 and None not in seen


def test_sources_that_are_not_what_was_imported_have_none(tmp_path, package, environment, monkeypatch):
    from flambeau.engines.xla import _digests

    assert package.digest_of_sources.__wrapped__() is not None
    monkeypatch.setattr(package, "IMPORTED_AT", 0.0)  # before they were written
    assert package.digest_of_sources.__wrapped__() is None
    monkeypatch.setattr(package, "IMPORTED_AT", float("inf"))
    (tmp_path / "__init__.py").rename(tmp_path / "__init__.pyc")
    assert package.digest_of_sources.__wrapped__() is None
    monkeypatch.setattr(_digests, "digest_of_sources", package.digest_of_sources.__wrapped__)
    with pytest.raises(_digests.NoDigest, match="sources"):
        environment()


def replacements():
    import jax

    return {"function": lambda x: x, "mock": unittest.mock.MagicMock(), "partial": functools.partial(Users.method, 1),
            "jitted": jax.jit(lambda x: x), "wrapper": functools.wraps(jax.numpy.tanh)(lambda x: x)}


@pytest.mark.parametrize("kind", ["function", "mock", "partial", "jitted", "wrapper"])
@pytest.mark.parametrize("owner", ["jax.numpy", "jax.lax", "numpy", "flambeau.engines.xla.engine"])
def test_where_a_function_is_replaced_there_are_none(environment, monkeypatch, owner, kind):
    from flambeau.engines.xla import _digests

    environment()
    monkeypatch.setattr(f"{owner}.tanh", replacements()[kind])
    for _ in range(2):
        with pytest.raises(_digests.NoDigest, match="tanh was replaced"):
            _digests.check_code()
        monkeypatch.undo()  # what was traced with it is still there


@pytest.mark.parametrize("name", ["CONFIG", "TRACE_CONTEXT", "KEY_OF_PROGRAM"])
def test_there_are_none_where_jax_is_not_as_it_was(environment, monkeypatch, name):
    from flambeau.engines.xla import _digests

    before = _digests.trace_context()
    monkeypatch.setattr(_digests, name, None)
    with pytest.raises(_digests.NoDigest, match="jax"):
        environment()
    assert hash(_digests.trace_context()) is not None and (_digests.trace_context() == before) == (name != "TRACE_CONTEXT")
    assert _digests.internal("no_such_module", "a") is None and _digests.internal("core", "no_such_name") is None


def test_keys_that_jax_makes_in_another_way(environment, monkeypatch):
    from flambeau.engines.xla import _digests

    monkeypatch.setattr(_digests, "KEY_OF_PROGRAM", len)
    with pytest.raises(_digests.NoDigest, match="keys"):
        environment()
