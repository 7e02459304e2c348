"""When this package was imported: what is written to its files later does not run."""

from __future__ import annotations

import time

IMPORTED_AT = time.time()
