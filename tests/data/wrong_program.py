"""A program with mistakes that a type checker should find: each on the line that says so, and nowhere else."""

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import Tensor, nn

x = torch.ones(2, 3)
x.bakward()  # error: attr-defined
torch.summ(x)  # error: attr-defined
torch.exp("x")  # error: arg-type
x.sum(dim="rows")  # error: arg-type
x.sum(0, keepdims_=True)  # error: call-arg
x + "x"  # error: operator
x.reshape("2", 3)  # error: call-overload
n: int = x.sum()  # error: assignment
t: Tensor = x.max(dim=0)  # error: assignment
x.grad.sum()  # error: union-attr
x.shape = (3, 2)  # error: assignment, misc
F.relu(3)  # error: arg-type
F.rellu(x)  # error: attr-defined
torch.zeros(2, dtype="float32")  # error: call-overload
net = nn.Linear(2, 3)
net.load_state_dict(3)  # error: arg-type
net.train("yes")  # error: arg-type
nn.Linnear(2, 3)  # error: attr-defined
