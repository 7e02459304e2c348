"""Stands for PyTorch: importing it makes ``torch`` another name of Flambeau (see flambeau.alias)."""

from flambeau import alias

alias.replace_package()
