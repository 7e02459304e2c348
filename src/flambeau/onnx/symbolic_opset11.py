"""Operators of ONNX's version 11: there are none."""
