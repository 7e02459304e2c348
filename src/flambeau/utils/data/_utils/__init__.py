"""The internals of DataLoader: fetching, collation, and worker processes."""

from . import channel, collate, fetch, pool, segments, worker
