"""Decorators of functions that would write operators into ONNX files."""


def parse_args(*arg_descriptors):
    """A decorator that returns the function."""
    return lambda fn: fn
