"""The parts of a DataLoader: what fetches samples, what makes batches of them, and what runs in a worker."""

from . import channel, collate, fetch, pool, segments, worker
