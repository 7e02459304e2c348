"""TensorBoard logging, through the package ``tensorboard`` (the extra ``tensorboard``)."""

try:
    from tensorboard.summary.writer.record_writer import RecordWriter
except ImportError as error:
    raise ImportError(
        "flambeau.utils.tensorboard writes its files with the package tensorboard: pip install 'flambeau[tensorboard]'"
    ) from error

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
