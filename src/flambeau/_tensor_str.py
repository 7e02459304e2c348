"""Tensor printing, under the names that libraries import."""

from ._format import _body as _tensor_str
from ._format import _options as PRINT_OPTS
from ._format import get_printoptions, printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "_tensor_str", "get_printoptions", "printoptions", "set_printoptions"]
