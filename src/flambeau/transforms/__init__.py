"""Function transforms, implemented by tensors with their own dispatch level: ``vmap`` and forward-mode differentiation.

``_level.py`` describes how ops are dispatched. ``vmap.py`` and ``dual.py`` are the two kinds of levels; their rules
for ops are in ``batching/``, by family, and in ``jvps.py``.
"""
