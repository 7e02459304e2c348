"""Runs random programs on Flambeau and on PyTorch, and reports the shortest on which they disagree.

    PYTHONPATH=tools python -m differential --seconds 600 --seed 1 --families ops,views

A *program* is a list of steps, and a step is a line of Python in which ``torch`` is one library or the other
(``program.py``). Steps are drawn one by one from tables of templates, one file a family: ``ops.py``, ``views.py``,
``autograd.py``, ``modules.py``, ``layers.py``, ``functionals.py``, ``losses.py``, ``sequences.py``, ``parameters.py``,
``training.py``, ``files.py``. Each is executed by both libraries at once; afterwards everything that the program can
see is compared (``compare.py``). What disagrees is shrunk (``search.py``), unless it is a difference that was decided
on (``deliberate.py``).
"""
