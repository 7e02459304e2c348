"""Lazy modules: parameter shapes are inferred from the inputs of the first call."""

from __future__ import annotations

import itertools

from ..parameter import is_lazy


class LazyModuleMixin:
    """Makes a Module lazy.

    A lazy class derives from this and from the ordinary class, creates ``UninitializedParameter`` and
    ``UninitializedBuffer`` in ``__init__``, and defines ``initialize_parameters(*inputs)``, which is called before
    the first ``forward``. After that the module turns into an instance of ``cls_to_become``.
    """

    cls_to_become: type | None = None

    def __init_subclass__(cls, *, cls_to_become=None, **others):
        super().__init_subclass__(**others)
        if cls_to_become is not None:
            cls.cls_to_become = cls_to_become

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_adopt_shapes, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_infer, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Saves uninitialized tensors as such, so that loading can detect them."""
        transient = self._non_persistent_buffers_set
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            if value is not None and name not in transient:
                destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def initialize_parameters(self, *args, **kwargs):
        """Initializes the parameters from the arguments of the first call. To be defined by the subclass."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether a parameter or buffer is uninitialized."""
        own = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(value is not None and is_lazy(value) for value in own)

    def _infer_parameters(self, module, args, kwargs=None):
        """The first call: initializes the parameters; the module is not lazy any more."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {self._get_name()} has not been fully initialized: initialize_parameters() must give every "
                "parameter and buffer a shape"
            )
        for name in ("_load_hook", "_initialize_hook"):
            module.__dict__.pop(name).remove()
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )


def _infer(module, args, kwargs):
    """The pre-hook of the first call."""
    module._infer_parameters(module, args, kwargs)


def _adopt_shapes(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
    """Before loading: takes shapes from the state dict."""
    for name, value in itertools.chain(module._parameters.items(), module._buffers.items()):
        key = prefix + name
        if value is not None and key in state_dict and is_lazy(value) and not is_lazy(state_dict[key]):
            value.materialize(state_dict[key].shape)


__all__ = ["LazyModuleMixin"]
