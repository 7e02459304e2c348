"""The public functions with PyTorch's signatures, one file per family.

A function whose first parameter is the tensor doubles as the Tensor method of that name; ``_attach`` adds methods
and in-place methods to Tensor.
"""
