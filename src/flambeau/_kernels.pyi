from collections.abc import Callable
from typing import Any

NAMES: tuple[str, ...]

def kernel(name: str, twin: Callable[..., Any], /) -> Callable[..., Any]: ...
def use_width(widest: int, /) -> int: ...
