"""When this package was imported; later changes to its files are not in effect."""

import time

IMPORTED_AT = time.time()
