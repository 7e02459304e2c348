"""Importing this package makes ``torch`` an alias of Flambeau (see flambeau.alias)."""

from flambeau import alias

alias.replace_package()
