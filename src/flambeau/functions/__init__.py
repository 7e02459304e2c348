"""The vocabulary: the public functions, a file a family, with PyTorch's signatures.

A function whose first parameter is the tensor serves as the method of that name too; ``_attach`` puts methods and
in-place forms on Tensor.
"""
