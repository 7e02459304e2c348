"""Transforms of functions that compute on tensors of a level of their own: ``vmap`` and forward-mode differentiation.

``_level.py`` says how ops get here. ``vmap.py`` and ``dual.py`` are the two kinds of levels; their rules for ops stand
in ``batching/``, by family, and in ``jvps.py``.
"""
