"""The forms in which a function of a table is called: as it stands there, as a method, in place, with ``out=``,
with named arguments, with NumPy's names.
"""

import functools
import re

import torch

from .pointwise import POINTWISE

CALL = re.compile(r"torch\.(\w+\.)?(\w+)\(\{x\}(?:, (.*))?\)(\[0\])?")


@functools.cache
def forms(row):
    """The row, and the rows of the same call in other forms."""
    found = [row]
    call = CALL.fullmatch(row.template)
    if call is None:
        return found
    namespace, name, rest, first = call.groups(default="")
    if not namespace and hasattr(torch.Tensor, name):
        found.append(row._replace(template=f"{{x}}.{name}({rest}){first}"))
    if not namespace and hasattr(torch.Tensor, f"{name}_"):
        found.append(row._replace(template=f"{{x}}.{name}_({rest})"))
    if takes_out(namespace, name) and not first:
        found.append(row._replace(template=f"{row.template[:-1]}, out={{out}})"))
        if row in POINTWISE:
            found.append(row._replace(template=f"{row.template[:-1]}, out={{x}})"))
    if not namespace and name[-1] != "_" and re.fullmatch(r"(\w+=[^,()]*(, )?)*", rest):
        found.append(row._replace(template=row.template.replace("({x}", "(input={x}")))
    if "dim=" in rest:
        found.append(row._replace(template=row.template.replace("keepdim=", "keepdims=").replace(" dim=", " axis=")))
    return found


def takes_out(namespace, name):
    """Whether PyTorch's function takes one tensor as ``out=``."""
    function = getattr(getattr(torch, namespace[:-1], torch), name)
    return "out=" in (function.__doc__ or "").split("\n\n")[0] and name not in OTHERS


OTHERS = {  # they have several results
    "aminmax", "cholesky_ex", "cummax", "cummin", "frexp", "geqrf", "histogram", "inv_ex", "kthvalue", "lu",
    "lu_factor",
    "lu_factor_ex", "lu_unpack", "median", "mode", "nanmedian", "qr", "slogdet", "solve_ex", "sort", "std_mean", "svd",
    "topk", "triangular_solve", "var_mean",
}
