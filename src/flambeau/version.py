"""What PyTorch was built for. Flambeau is built for none of it."""

__version__ = "2.13.0+flambeau"
cuda: str | None = None
debug = False
git_version = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
