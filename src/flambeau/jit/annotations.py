"""Names that scripts import for their annotations."""

from collections.abc import Sequence

BroadcastingList1 = Sequence
BroadcastingList2 = Sequence
BroadcastingList3 = Sequence
