"""ONNX: nothing is exported. Libraries find the names that they register their operators with."""

from .._lazy import lazy_submodules

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic"]

NO_EXPORT = "torch.onnx.{name} is not supported: Flambeau writes no ONNX files. Save the state dict for PyTorch."


def export(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(NO_EXPORT.format(name="export"))


dynamo_export = export


def is_in_onnx_export():
    """Whether a model is being exported: never."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Accepted, without effect."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Accepted, without effect."""


__getattr__, __dir__ = lazy_submodules(__name__, ["symbolic_helper", "symbolic_opset11"])
