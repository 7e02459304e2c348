"""Errors of the transforms: PyTorch's types, and the phrases that people search for."""

import re

import pytest

import flambeau
from func.test_transforms import check_both, run

SETUP = """
from {lib}.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from {lib}.func import stack_module_state
o, i = torch.ones(3, 4), torch.ones(3, dtype=torch.int64)
s = torch.ones(())
"""

# Code, and words of the message that both libraries have.
ERRORS = [
    ("vmap(lambda x: x.item())(o[0])", "It looks like you're calling .item() on a Tensor"),
    ("vmap(lambda x: float(x))(o[0])", "It looks like you're calling .item() on a Tensor"),
    ("vmap(lambda x: int(x))(o[0])", "It looks like you're calling .item() on a Tensor"),
    ("vmap(lambda x: x if x > 0 else -x)(o[0])", "in some data-dependent control flow"),
    ("vmap(lambda x: x if x.sum() > 0 else -x)(o)", "in some data-dependent control flow"),
    ("vmap(lambda x: x.tolist())(o)", "Cannot access data pointer of Tensor that doesn't have storage"),
    ("vmap(lambda x: x.numpy())(o)", "Cannot access data pointer of Tensor that doesn't have storage"),
    ("vmap(lambda x: x.nonzero())(o)", "dynamic shape"),
    ("vmap(lambda x: x[x > 0])(o)", "dynamic shape"),
    ("vmap(lambda x: torch.masked_select(x, x > 0))(o)", "this would return a differently shaped Tensor"),
    ("y = torch.zeros(4); vmap(lambda x: y.copy_(x))(o)", "inplace arithmetic(self, *extra_args) is not possible"),
    ("vmap(lambda x: torch.zeros(4).add_(x))(o)", ""),
    ("vmap(lambda x: torch.rand(2))(o)", "called random operation while in randomness error mode"),
    ("vmap(lambda x: torch.nn.functional.dropout(x))(o)", "called random operation while in randomness error mode"),
    ("vmap(lambda x: x.normal_())(o)", "called random operation while in randomness error mode"),
    ("vmap(lambda x: torch.bernoulli(x), randomness='same')(o)", "does not currently support same randomness"),
    ("vmap(lambda x: torch.zeros(2).normal_(), randomness='different')(o)", "different inplace randomness"),
    ("vmap(lambda x: x, randomness='none')", "Only allowed values for randomness are 'error', 'different', or 'same'"),
    ("vmap(lambda x: x, chunk_size=0)", "chunk_size should be None or greater than 0"),
    ("vmap(lambda x: (x, 1))(o)", "must only return Tensors, got type <class 'int'>"),
    ("vmap(lambda x: None)(o)", "must only return Tensors, got type <class 'NoneType'>"),
    ("vmap(lambda x: x)(s)", "but that input is a Tensor of dimensionality 0"),
    ("vmap(lambda x: x, in_dims=3)(o)", "Got in_dim=3 for some input"),
    ("vmap(lambda x: x, in_dims=None)(o)", "expected `in_dims` to be int or a (potentially nested) tuple"),
    ("vmap(lambda x: x, in_dims='a')(o)", "expected `in_dims` to be int or a (potentially nested) tuple"),
    ("vmap(lambda x: x, in_dims=(0.5,))(o)", "in_dim must be either an integer dimension or None"),
    ("vmap(lambda x: x, in_dims=(0, 0))(o)", "in_dims is not compatible with the structure of `inputs`"),
    ("vmap(lambda x: x, in_dims=(None,))(o)", "Expected at least one Tensor to vmap over"),
    ("vmap(lambda x, y: x)(o, o[:2])", "to have the same size in the mapped dimension, got sizes [3, 2]"),
    ("vmap(lambda x: x)(1.0)", "We cannot vmap over non-Tensor arguments"),
    ("vmap(lambda x: x)()", "got no inputs"),
    ("vmap(lambda x: x, out_dims=3)(o)", "Dimension out of range"),
    ("vmap(lambda x: x, out_dims=None)(o)", "can not return a BatchedTensor when out_dim is None"),
    ("vmap(lambda x: x, out_dims=(0, 0))(o)", "out_dims is not compatible with the structure of `outputs`"),
    ("vmap(lambda x: x, out_dims=0.5)(o)", "`out_dims` must be an int, None or a python collection of ints"),
    ("l = []; vmap(lambda x: l.append(x) or x * 1)(o); l[0] + 1", "escaped from inside a function being vmapped"),
    ("vmap(lambda x, y: x + y)(o, torch.ones(3, 5))", "must match the size of tensor b"),
    ("functional_call(torch.nn.Linear(4, 2), {'bias': i, 'more': i}, o, strict=True)",
     "Error(s) in reparametrizing for Linear:\n\tUnexpected key(s): 'more'.\n\tMissing key(s): 'weight'."),
    ("grad(lambda x: x)(o)", "Expected f(*args) to return a scalar Tensor, got tensor with 2 dims"),
    ("grad(lambda x: (x, x))(s)", "Expected f(*args) to return a Tensor, got <class 'tuple'>"),
    ("grad(lambda x: 1.0)(s)", "Expected f(*args) to return a Tensor, got <class 'float'>"),
    ("grad(lambda x: x, argnums=2)(s)", "Got argnum=2, but only 1 positional inputs"),
    ("grad(lambda x: x, argnums=(0, 0))(s)", "argnums elements must be unique"),
    ("grad(lambda x: x, argnums=())(s)", "argnums must be non-empty"),
    ("grad(lambda x: x, argnums='a')(s)", "argnums must be int or Tuple[int, ...], got: <class 'str'>"),
    ("grad(lambda x: x, has_aux=True)(s)", "output of function f should be a tuple: (output, aux) if has_aux is True"),
    ("grad(lambda x: (x, 1), has_aux=True)(s)", "Expected tensors, got unsupported type <class 'int'>"),
    ("grad(lambda x: x.sum())(i)", "only Tensors of floating point dtype can require gradients"),
    ("grad(lambda x: x)(1.0)", "must be Tensor, got <class 'float'>"),
    ("grad(lambda x: x.sum().backward())(o)", "backward() called inside a functorch transform"),
    ("vmap(lambda x: x.sum().backward())(o)", "backward() called inside a functorch transform"),
    ("grad(lambda x: x.requires_grad_().sum())(o)", "You are attempting to call Tensor.requires_grad_()"),
    ("grad(lambda x: torch.autograd.functional.jvp(torch.sin, x, x)[1])(s)", "You are attempting to call"),
    ("vjp(lambda x: (x, 1), o)", "expected f(*primals) to return only tensors, got unsupported type <class 'int'>"),
    ("vjp(lambda x: (x, x), o)[1](o)", "Expected pytree structure of cotangents to be the same"),
    ("vjp(lambda x: x, o)[1](s)", "Mismatch in shape"),
    ("vjp(lambda x: x, o, has_aux=True)", "should be a tuple: (output, aux) if has_aux is True"),
    ("jvp(lambda x: x, o, o)", "Expected primals to be a tuple"),
    ("jvp(lambda x: x, (o,), (s,))", "has a different size than that of the original Tensor"),
    ("jvp(lambda x: x, (o,), ())", "Expected primals and tangents to have the same python structure"),
    ("jvp(lambda x: x, (o,), [o])", "Expected primals and tangents to have the same python structure"),
    ("jvp(lambda: s, (), ())", "to contain at least one Tensor"),
    ("jvp(lambda x: x, (1.0,), (o,))", "to only contain Tensors"),
    ("jvp(lambda x: x, (i,), (o[:, 0],))", "Expected primal to be floating point or complex"),
    ("jvp(lambda x: 1, (o,), (o,))", "expected f(*primals) to return only tensors, got unsupported type <class 'int'>"),
    ("jvp(lambda x: s, (o,), (o,), strict=True)", "The output of f is independent of the inputs"),
    ("linearize(lambda x: x * 2, o)[1](o, o)", "to have the same argspec as the primals"),
    ("linearize(lambda x: x * 2, o)[1](s)", "doesn't match the shape"),
    ("linearize(lambda x: x * 2, o)[1](o.double())", "doesn't match the dtype"),
    ("jacrev(lambda x: x, chunk_size=0)", "`chunk_size` should be greater than 0"),
    ("jacrev(lambda x: (x, 1))(o)", "expected f(*primals) to return only tensors"),
    ("jacrev(lambda x: x)(i)", "only Tensors of floating point dtype can require gradients"),
    ("jacfwd(lambda x: (x, 1))(o)", "expected f(*primals) to return only tensors"),
    ("stack_module_state([])", "Expected at least one model, got 0"),
    ("stack_module_state([torch.nn.ReLU(), torch.nn.Tanh()])", "Expected all models to be of the same class"),
    ("stack_module_state([torch.nn.ReLU(), torch.nn.ReLU().eval()])", "to have the same training/eval mode"),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("code", "words"), ERRORS, ids=[code for code, _ in ERRORS])
def test_errors(code, words):
    error, expected = check_both(SETUP, code.replace("; ", "\n"))
    assert isinstance(expected, Exception)
    assert words in str(expected), f"PyTorch says: {expected}"
    assert words in str(error)


@pytest.mark.parametrize(("code", "words"), ERRORS[::4], ids=[code for code, _ in ERRORS[::4]])
def test_errors_without_pytorch(code, words):
    _, error = run("\n".join([SETUP, code.replace("; ", "\n")]), flambeau)
    assert re.search(re.escape(words), str(error))


def test_an_error_leaves_no_level():
    """After a function has failed inside of transforms, everything is as before."""
    def fail(x):
        raise ZeroDivisionError

    for transform in (flambeau.func.grad, flambeau.func.vmap, flambeau.func.jacrev, flambeau.func.jacfwd):
        with pytest.raises(ZeroDivisionError):
            flambeau.func.vmap(transform(fail))(flambeau.ones(2, 2))
    x = flambeau.ones(2).requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_ops_without_a_rule_warn():
    x = flambeau.eye(3).expand(2, 3, 3)
    with pytest.warns(UserWarning, match="performance drop because we have not yet implemented the batching rule"):
        found = flambeau.vmap(lambda x: flambeau.block_diag(x, x))(x)
    assert found.shape == (2, 6, 6)


def test_counts_need_the_elements_of_a_tensor():
    x = flambeau.tensor([[1.0, 2.0], [3.0, 5.0]])
    with pytest.raises(RuntimeError, match=r"vmap: .*Tensor"):
        flambeau.vmap(lambda x: flambeau.histogram(x, 2)[0])(x)
    assert flambeau.func.jvp(lambda x: flambeau.histogram(x, 2)[0], (x,), (x,))[0].tolist() == [2, 2]


def test_resizing_is_refused():
    with pytest.raises(RuntimeError, match="cannot resize variables"):
        flambeau.vmap(lambda x: x.clone().resize_(3))(flambeau.ones(2, 2))
