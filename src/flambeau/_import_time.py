"""When this package was imported; later changes to its files are not in effect."""

from __future__ import annotations

import time

IMPORTED_AT = time.time()
