"""Export: traces a model, converts the trace to a program of JAX, and compares that with the model."""

import functools
import importlib.util
import inspect

import numpy as np

from .._device import CPU
from .._layout import contiguous_strides
from .._modes import no_grad
from .._storage import DeviceStorage
from .._tensor import Tensor, engine_for, wrap
from ..engines import on_host
from ..engines._views import phantom, value_of
from ..nn.modules.module import Module
from ..testing import assert_close
from ._dims import dims_of
from ._program import ExportedProgram, Specification
from ._trees import build, describe

NO_JAX = "export() needs JAX, which is not installed: pip install 'flambeau[xla]'."
NOT_A_MODULE = "export() expects a module or a function, but got {kind}"
WRITES = (
    "{name} cannot be exported: it writes to a tensor that is not its own, {tensor}. An exported program computes its "
    "results, and nothing else: call eval() first, if it is a layer that counts or averages while it trains."
)
SETS = "{name} cannot be exported: it sets attributes, or changes containers, that are there before and after the call."
DRAWS = "{name} cannot be exported: it draws random numbers. Call eval() first, or pass the numbers as an input."
TOO_MANY = "at most {most} dynamic dimensions can be exported"
UNEQUAL = (
    "{name} cannot be exported with dynamic dimensions {dims}: at the sizes {sizes} the exported program does "
    "something else than the model, which must have decided something by the size. Leave the dimension static."
)


def export(mod, args, kwargs=None, *, dynamic_shapes=None, platforms=None, strict=False,
           preserve_module_call_signature=()):
    """Exports a model as a program that runs without its code.

    The program is not differentiable. It checks shapes and dtypes of its inputs, but not elements: an index that is out
    of bounds goes unnoticed.

    Args:
        mod: a module, or a function of tensors; it is traced in its current mode, without recording.
        args: example inputs: a tuple, or one tensor.
        kwargs: example keyword arguments.
        dynamic_shapes: the dynamic dimensions: for each argument, by name or in order, None or {dimension:
            :class:`Dim`}.
        platforms: a list of "cpu", "cuda", "tpu" and "rocm"; by default the platform of the model.
        strict, preserve_module_call_signature: no effect.

    Example::

        >>> model = flambeau.nn.Linear(3, 2).eval()
        >>> program = flambeau.export(model, flambeau.ones(1, 3), dynamic_shapes=[{0: flambeau.export.Dim("batch")}])
        >>> program(flambeau.ones(5, 3)).shape
        torch.Size([5, 2])
    """
    if importlib.util.find_spec("jax") is None:
        raise ModuleNotFoundError(NO_JAX, name="jax")
    if not callable(mod) or isinstance(mod, type):
        raise TypeError(NOT_A_MODULE.format(kind=type(mod).__name__))
    args, kwargs = (args,) if isinstance(args, Tensor) else tuple(args), dict(kwargs or {})
    return Export(mod, args, kwargs, dynamic_shapes).program(platforms)


def in_full(closed):
    """The trace with the calls of kernels inlined, so that all sizes are visible."""
    import jax

    avals = [v.aval for v in closed.jaxpr.invars]
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
    return jax.make_jaxpr(lambda *arrays: jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arrays))(*structs)


class Export:
    """The export of a model."""

    def __init__(self, mod, args, kwargs, dynamic_shapes):
        from ._symbolic import PRIMES

        self.mod, self.args, self.kwargs = mod, args, kwargs
        self.name = getattr(mod, "__qualname__", type(mod).__name__)
        self.tensors = []
        self.input_tree = describe((args, kwargs), self.tensors, "arguments")
        self.dims = self.dims_by_tensor(dynamic_shapes)
        self.primes = {}  # Dim -> its size during tracing
        for dim in [dim for own in self.dims for dim in own.values()]:
            if dim not in self.primes:
                if len(self.primes) == len(PRIMES):
                    raise ValueError(TOO_MANY.format(most=len(PRIMES)))
                self.primes[dim] = PRIMES[len(self.primes)]

    def dims_by_tensor(self, dynamic_shapes):
        """{dimension: Dim} of each tensor among the arguments."""
        target = self.mod.forward if isinstance(self.mod, Module) else self.mod
        bound = inspect.signature(target).bind(*self.args, **self.kwargs).arguments
        named = {}
        for name, value in bound.items():
            kind = inspect.signature(target).parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                named.update({f"{name}[{nr}]": v for nr, v in enumerate(value)})
            elif kind is inspect.Parameter.VAR_KEYWORD:
                named.update(value)
            else:
                named[name] = value
        specs = dims_of(dynamic_shapes, named)
        by_id = {id(value): spec for value, spec in zip(named.values(), specs, strict=True)}
        return [by_id.get(id(t), {}) for t in self.tensors]

    def program(self, platforms):
        import jax

        closed, recording = self.trace()
        state = self.state_of(recording)
        results = []
        output_tree = describe(recording.result, results, "results")
        arrays = [on_host(t._a, "export()") for t in state.values()]
        run = self.function(closed, recording, list(state.values()))
        platforms = [platforms] if isinstance(platforms, str) else platforms or [self.platform(recording)]
        symbols, shapes = self.symbolic_shapes(jax.export)
        structs = [jax.ShapeDtypeStruct(shape, t._a.dtype) for shape, t in zip(shapes, self.tensors, strict=True)]
        states = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
        exported = jax.export.export(jax.jit(functools.partial(run, symbols)), platforms=list(platforms))(
            states, structs)
        specification = Specification(
            self.name, self.input_tree, output_tree, [t.dtype for t in self.tensors],
            [[own.get(i, n) for i, n in enumerate(t.shape)] for own, t in zip(self.dims, self.tensors, strict=True)],
        )
        program = ExportedProgram(exported, dict(zip(state, map(wrap, arrays), strict=True)), specification)
        if CPU.type in platforms or recording.trace.device.type in platforms:
            self.compare(program)
        return program

    def trace(self):
        """(the trace, its recording)."""
        from ..compiler._recording import Recording

        stand_ins = iter([self.stand_in(t, own) for t, own in zip(self.tensors, self.dims, strict=True)])
        args, kwargs = build(self.input_tree, stand_ins)
        tensors = []
        describe((args, kwargs), tensors, "arguments")
        recording = Recording(self.mod, self.name, args, kwargs, tensors, takes_floats=False)
        recording.arguments = tensors

        def body():
            with no_grad():
                recording.result = self.mod(*args, **kwargs)
            results = []
            describe(recording.result, results, "results")
            self.check(recording.trace)
            return [value_of(t._a) for t in results]

        return in_full(recording.trace_function(body)), recording

    def stand_in(self, t, dims):
        """A tensor like `t` with other sizes, and without memory."""
        if not dims:
            return t.detach()
        shape = tuple([self.primes[dims[i]] if i in dims else n for i, n in enumerate(t.shape)])
        found = wrap(phantom(shape, contiguous_strides(shape), t._a.dtype))
        if t.device is not CPU:
            found._storage = DeviceStorage(found._a, engine_for(t), t.device)
        return found

    def check(self, trace):
        """Raises if the model does more than compute results."""
        written = [x for x in trace.lifted.values() if x.is_written]
        if written:
            raise RuntimeError(WRITES.format(name=self.name, tensor=written[0]))
        if trace.draws:
            raise RuntimeError(DRAWS.format(name=self.name))
        if any(trace.watch.changes()):
            raise RuntimeError(SETS.format(name=self.name))

    def state_of(self, recording):
        """{name: tensor} of the tensors that the program takes besides its arguments."""
        given = {id(t) for t in recording.arguments}
        names = {}
        if isinstance(self.mod, Module):
            for name, t in (*self.mod.named_parameters(), *self.mod.named_buffers()):
                names.setdefault(id(t), name)
        lifted = [x.tensor for x in recording.trace.lifted.values() if id(x.tensor) not in given]
        return {names.get(id(t), f"constant.{nr}"): t for nr, t in enumerate(lifted)}

    def function(self, closed, recording, state):
        """The function for JAX to export, of (symbols, arrays of the state, arrays of the arguments)."""
        from ._symbolic import Sizes

        lifted = recording.trace.lifted
        place = {lifted[id(t)].index: ("state", nr) for nr, t in enumerate(state)}
        place.update({lifted[id(t)].index: ("given", nr) for nr, t in enumerate(recording.arguments)
                      if id(t) in lifted})

        def run(symbols, state, given):
            arrays = {"state": state, "given": given}
            inputs = {index: arrays[kind][nr] for index, (kind, nr) in place.items()}
            return Sizes(symbols, inputs).run(closed.jaxpr, closed.consts, [])

        return run

    def symbolic_shapes(self, export_of_jax):
        """({prime: symbolic dimension}, the shapes of the arguments)."""
        shapes = [[dims[i].name if i in dims else n for i, n in enumerate(t.shape)]
                  for dims, t in zip(self.dims, self.tensors, strict=True)]
        bounds = [f"{dim.name} >= {dim.min}" for dim in self.primes]
        bounds += [f"{dim.name} <= {dim.max}" for dim in self.primes if dim.max is not None]
        scope = export_of_jax.SymbolicScope(bounds)
        symbols = {prime: export_of_jax.symbolic_shape(dim.name, scope=scope)[0] for dim, prime in self.primes.items()}
        by_name = {dim.name: symbols[prime] for dim, prime in self.primes.items()}
        return symbols, [tuple([by_name.get(n, n) for n in shape]) for shape in shapes]

    def platform(self, recording):
        device = recording.trace.device.type
        if device != "xla":
            return device
        import jax

        return {"gpu": "cuda"}.get(jax.default_backend(), jax.default_backend())

    # ---- does it do what the model does?

    def compare(self, program):
        """Raises unless the program's results are the model's, at the example's sizes and at others."""
        for step in (0, 1, 3) if self.primes else (0,):
            sizes = {dim: self.size_of(dim, step) for dim in self.primes}
            inputs = [resize(t, {i: sizes[dim] for i, dim in own.items()})
                      for t, own in zip(self.tensors, self.dims, strict=True)]
            args, kwargs = build(self.input_tree, iter(inputs))
            try:
                with no_grad():
                    want, got = self.mod(*args, **kwargs), program(*args, **kwargs)
                expected, found = [], []
                describe(want, expected, "results")
                describe(got, found, "results")
                for a, b in zip(found, expected, strict=True):
                    assert_close(a, b.to(a.device), rtol=1e-2, atol=1e-3, equal_nan=True)
            except (AssertionError, ValueError, RuntimeError) as error:
                shown = {dim.name: size for dim, size in sizes.items()}
                dims = ", ".join(dim.name for dim in self.primes) or "(none)"
                raise RuntimeError(UNEQUAL.format(name=self.name, dims=dims, sizes=shown)) from error

    def size_of(self, dim, step):
        """The size of a dimension in the example plus `step`, within its bounds."""
        given = next(t.shape[i] for t, own in zip(self.tensors, self.dims) for i, d in own.items() if d is dim)
        size = max(given + step, dim.min)
        return size if dim.max is None or size <= dim.max else max(dim.max - step, dim.min)


def resize(t, sizes):
    """A tensor of these sizes with the elements of `t`, repeated as necessary."""
    for dim, size in sizes.items():
        places = np.arange(size) % t.shape[dim]
        t = t.index_select(dim, wrap(places).to(t.device))
    return t
