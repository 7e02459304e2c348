"""Chainable datasets."""

from . import iter
from .datapipe import DataChunk, IterDataPipe, functional_datapipe

__all__ = ["DataChunk", "IterDataPipe", "functional_datapipe", "iter"]
