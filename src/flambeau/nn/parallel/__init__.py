"""Modules on several devices. There is one, so that they run as they are."""

from .data_parallel import DataParallel as DataParallel, data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel
