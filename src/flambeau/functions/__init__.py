"""The public functions, with PyTorch's signatures, one file per family.

A function whose first parameter is a tensor is also a method; ``_attach`` adds methods and in-place variants to Tensor.
"""
