"""Records of a model's modules, with runs of equal siblings."""

import itertools

from ..nn.parameter import is_lazy

__all__ = ["count_of", "module_records", "signature"]

SHORTEST_RUN = 3  # of equal siblings that are collapsed


def module_records(model):
    """A record per module, parents first.

    A module registered under several names has a record for each; later ones refer to the first.
    """
    records, seen, owners = [], {}, {}
    for path, module in model.named_modules(remove_duplicate=False):
        parent, _, name = path.rpartition(".")
        record = {
            "path": path, "name": name or type(model).__name__, "class": type(module).__name__,
            "settings": settings_of(module), "training": module.training,
            "depth": path.count(".") + 1 if path else 0, "parent": None if not path else parent,
        }
        if module in seen:
            record["same_as"] = seen[module]
        seen.setdefault(module, path)
        record["parameters"] = parameter_records(path, module, owners)
        records.append(record)
    add_counts(model, records)
    mark_runs(model, records)
    return records


def settings_of(module):
    try:
        return module.extra_repr()
    except Exception as error:
        return f"(extra_repr() raises {type(error).__name__})"


def parameter_records(path, module, owners):
    """The parameters a module owns directly; shared ones refer to their first owner."""
    records = []
    for name, p in module._parameters.items():
        if p is None:
            continue
        full = f"{path}.{name}" if path else name
        first = owners.setdefault(id(p), full)
        records.append({
            "name": name, "shape": [] if is_lazy(p) else list(p.shape), "count": count_of(p), "dtype": str(p.dtype)[6:],
            "trainable": p.requires_grad, **({"shared_with": first} if first != full else {}),
        })
    return records


def add_counts(model, records):
    """Adds the number of parameters below each module, each counted once."""
    for record in records:
        module = model.get_submodule(record["path"])
        parameters = list(module.parameters())
        record["count"] = sum(map(count_of, parameters))
        record["trainable"] = sum(count_of(p) for p in parameters if p.requires_grad)
        record["bytes"] = sum(count_of(p) * p.dtype.itemsize for p in parameters)


def count_of(p):
    """The number of elements of a parameter; 0 if it is uninitialised."""
    return 0 if is_lazy(p) else p.numel()


def signature(module):
    """A key that is equal for modules that differ only in parameter values."""
    return (
        type(module), settings_of(module),
        tuple((name, None if p is None or is_lazy(p) else tuple(p.shape)) for name, p in module._parameters.items()),
        tuple((name, signature(child)) for name, child in module._modules.items() if child is not None),
    )


def mark_runs(model, records):
    """Marks runs of consecutive equal siblings in their records, with their length."""
    places = {record["path"]: record for record in records}
    for path, module in model.named_modules():
        children = [(f"{path}.{name}" if path else name, child) for name, child in module.named_children()]
        if len(children) < SHORTEST_RUN:
            continue
        for _, run in itertools.groupby(children, key=lambda pair: signature(pair[1])):
            run = [places[p] for p, _ in run]
            if len(run) >= SHORTEST_RUN:
                for record in run:
                    record["run"] = {"first": run[0]["path"], "length": len(run)}
