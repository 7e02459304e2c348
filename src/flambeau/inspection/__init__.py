"""HTML pages that show a model's structure and how it processes a batch."""

import copy
import html
import json
import math
import os
import time
from importlib import resources

from .._modes import no_grad
from .._tensor import Tensor
from .._version import __version__
from ..debug._run import preserve_state, scalar_of
from ..nn.modules.module import Module
from ..nn.parameter import is_lazy
from ..random import get_all_states, set_all_states
from ..utils._pytree import tree_map
from ._arrays import statistics
from ._compare import comparison_data
from ._run import Recording, Times, graph_records
from ._tree import count_of, module_records

__all__ = ["Inspection", "compare", "inspect"]

NO_MODULE = (
    "inspect(): argument 'model' must be a Module, not {kind}: make an object of a class, and put a function into the "
    "forward of one"
)
MANY = 600  # number of modules above which modules without parameters get no histograms


def inspect(model, *inputs, loss=None, optimizer=None, path=None):
    """Observes a model while it runs, and creates a page about it.

    The model runs forward and backward twice, in its current mode. Parameters, gradients, buffers, the random state and
    the optimizer are restored afterwards, and hooks are removed.

    Args:
        model: the model.
        inputs: the model's inputs. Without inputs nothing runs, and the page shows only the modules. Lazy modules stay
            uninitialised: a copy of the model runs.
        loss: a function from the output to the scalar to run backward from; by default the sum of the output.
        optimizer: the model's optimizer; a copy of it performs a step, and the page shows the size of each update
            relative to its parameter (about 1e-3 is typical). Its ``step`` must not need a closure.
        path: a file to write the page to.

    Returns:
        an ``Inspection``; a notebook shows its page.

    Example::

        >>> page = flambeau.inspect(nn.Sequential(nn.Linear(4, 2), nn.ReLU()), flambeau.ones(1, 4))
        >>> page.modules["0"]["flops"], page.modules["0"]["count"]
        (16, 10)
    """
    if not isinstance(model, Module):
        raise TypeError(NO_MODULE.format(kind=type(model).__name__))
    if inputs and any(map(is_lazy, (*model.parameters(), *model.buffers()))):
        model = materialize(model, inputs)
    records = module_records(model)
    data = {"title": type(model).__name__, "version": __version__, "modules": records, "ops": [], "graph": None}
    if inputs:
        add_run(data, model, inputs, loss, optimizer)
    data["summary"] = summary(data, model)
    page = Inspection(data)
    if path is not None:
        page.save(path)
    return page


def materialize(model, inputs):
    """A copy of a model with lazy modules, initialised by a call."""
    state = get_all_states()
    model = copy.deepcopy(model)
    with no_grad():
        model(*copy_inputs(inputs))
    set_all_states(state)
    return model


def copy_inputs(inputs):
    """Copies inputs for a run, so that the caller's get no gradients or writes. Repeated tensors stay shared."""
    copies = {}

    def copy_of(value):
        if not isinstance(value, Tensor):
            return value
        if id(value) not in copies:
            copies[id(value)] = value.detach().clone().requires_grad_(value.requires_grad)
        return copies[id(value)]

    return tree_map(copy_of, inputs)


def add_run(data, model, inputs, loss, optimizer):
    """Runs the model and adds what was observed to the data."""
    with preserve_state(model):
        recording, copies = Recording(model), copy_inputs(inputs)
        recording.add_inputs(copies)
        with recording:
            output = model(*copies)
            root = scalar_of(output, loss) if loss is not None else None
        recording.keep_ancestors(output if root is None else root)
        root = scalar_of(output, None) if root is None else root
        if root is not None and root.grad_fn is not None:
            names = {id(p): name for name, p in model.named_parameters()}
            data["graph"] = graph_records(root.grad_fn, recording.nodes, names)
            root.backward()
        add_weights(data["modules"], model, update_norms(optimizer) if optimizer is not None else {})
    recording.release()
    del output, root
    copies = copy_inputs(inputs)
    # Only the second run is timed, as the first includes one-time costs.
    with preserve_state(model), Times(model) as times:
        start = time.perf_counter()
        root = scalar_of(model(*copies), loss)
        if root is not None:
            times._last = time.perf_counter()
            root.backward()
        data["seconds"] = time.perf_counter() - start
    for record in data["modules"]:
        seen = recording.modules.get(record["path"], {})
        record |= {**seen, "forward": times.forward.get(record["path"]), "backward": times.backward.get(record["path"])}
        if len(data["modules"]) > MANY and not record["parameters"]:
            record.pop("activation", None)
            record.pop("gradient", None)
    data["ops"] = recording.ops
    add_sums(data["modules"])


def add_sums(records):
    """Sums up the children's records for containers that are not called themselves."""
    children = {}
    for record in records:
        children.setdefault(record["parent"], []).append(record)
    for record in reversed(records):
        inner = children.get(record["path"], ())
        if not record.get("calls") and inner:
            for key in ("flops", "saved", "forward", "backward"):
                record[key] = sum(child.get(key) or 0 for child in inner)


def add_weights(records, model, updates):
    """Statistics of parameters and gradients, and norms of updates."""
    for record in records:
        module = model.get_submodule(record["path"])
        for entry in record["parameters"]:
            p = module._parameters[entry["name"]]
            if p.is_meta or "shared_with" in entry:
                continue
            entry["values"] = statistics(p)
            norm = entry["values"]["norm"]
            if p.grad is not None:
                entry["gradient"] = statistics(p.grad)
                entry["ratio"] = entry["gradient"]["norm"] / norm if norm and entry["gradient"]["norm"] else 0.0
            if norm and math.isfinite(updates.get(id(p), math.nan)):
                entry["update"] = updates[id(p)] / norm
        ratios = [entry["update"] for entry in record["parameters"] if "update" in entry]
        if ratios:
            record["update"] = max(ratios)


def update_norms(optimizer):
    """{id of a parameter: norm of its update in one step}, determined on a copy."""
    trial = copy.deepcopy(optimizer)
    pairs = [
        pair
        for group, copied in zip(optimizer.param_groups, trial.param_groups)
        for pair in zip(group["params"], copied["params"])
    ]
    for p, moved in pairs:
        moved.grad = p.grad if p.grad is None else p.grad.clone()
    type(trial).step(trial)  # bypasses the wrapper that schedulers set on the instance
    return {id(p): (moved.detach() - p.detach()).norm().item() for p, moved in pairs}


def summary(data, model):
    """The totals of the whole model."""
    root = data["modules"][0]
    return {
        "modules": len(data["modules"]), "parameters": root["count"], "trainable": root["trainable"],
        "bytes": root["bytes"], "buffers": sum(map(count_of, model.buffers())), "training": model.training,
        "flops": root.get("flops"), "saved": root.get("saved"), "forward": root.get("forward"),
        "backward": root.get("backward"),
    }


def compare(a, b, path=None):
    """Creates a page that compares two models or checkpoints: keys, shapes, distances.

    Args:
        a: a module, a state dict, or a file with one.
        b: another one.
        path: a file to write the page to.

    Example::

        >>> a, b = nn.Linear(2, 2), nn.Linear(2, 2, bias=False)
        >>> _ = b.load_state_dict({"weight": a.weight})
        >>> [row["state"] for row in flambeau.inspection.compare(a, b).data["comparison"]]
        ['equal', 'only in the first']
    """
    names = [os.path.basename(x) if isinstance(x, str | os.PathLike) else type(x).__name__ for x in (a, b)]
    page = Inspection(comparison_data(a, b, names))
    if path is not None:
        page.save(path)
    return page


class Inspection:
    """What was observed of a model. Notebooks display it; ``save`` writes the page.

    Attributes:
        data: all data on the page.
        modules: the records of modules, by path.
    """

    def __init__(self, data):
        self.data = data
        self.modules = {record["path"]: record for record in data["modules"]}

    def html(self):
        """The page, self-contained."""
        files = resources.files(__name__)
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        page = (files / "page.html").read_text(encoding="utf-8")
        for mark, part in (("/*STYLE*/", "page.css"), ("/*SCRIPT*/", "page.js")):
            page = page.replace(mark, (files / part).read_text(encoding="utf-8"))
        return page.replace("TITLE", html.escape(self.data["title"])).replace('"DATA"', text)

    def save(self, path):
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html())

    def _repr_html_(self):
        """The page, for display in a notebook."""
        source = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{source}" style="width:100%;height:720px;border:1px solid #8888"></iframe>'

    def __repr__(self):
        s = self.data["summary"]
        return f"<Inspection of {self.data['title']}: {len(self.modules)} modules, {s['parameters']:,} parameters>"
