"""Immutable lists and dicts for node arguments, so that the users of a node are always known."""

from ..utils import _pytree

CANNOT_CHANGE = (
    "{kind!r} object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node "
    "object, instead create a new copy of it and assign the copy to the node:\n    new_args = ...\n"
    "    node.args = new_args"
)


def _refuse(self, *args, **kwargs):
    """Not supported: raises."""
    raise NotImplementedError(CANNOT_CHANGE.format(kind=type(self).__name__))


class immutable_list(list):
    """An immutable list."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """An immutable dict."""

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)


_pytree.register_pytree_node(immutable_list, lambda x: (list(x), None), lambda children, _: immutable_list(children))
_pytree.register_pytree_node(
    immutable_dict, lambda x: (list(x.values()), list(x)), lambda children, keys: immutable_dict(zip(keys, children))
)
