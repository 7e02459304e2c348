"""Stands for PyTorch: importing it makes ``torch`` another name of Flambeau (see flambeau.alias)."""

import importlib

from flambeau import alias

alias.install()
importlib.import_module("torch")  # takes this module's place
