"""Names that scripts import for their annotations."""

import typing
from collections.abc import Sequence

Any, Dict, List, Optional, Tuple, Union = (
    typing.Any, typing.Dict, typing.List, typing.Optional, typing.Tuple, typing.Union  # noqa: UP006 (PyTorch's names)
)
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = Sequence
