"""PyTorch's build variants, none of which apply here."""

__version__ = "2.13.0+flambeau"
cuda: str | None = None
debug = False
git_version = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
