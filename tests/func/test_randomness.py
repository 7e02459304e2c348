"""Random functions under vmap: PyTorch's numbers for PyTorch's seeds, in each mode."""

import pytest

import flambeau
from func.test_transforms import check_both

SETUP = """
from {lib}.func import vmap
o = torch.ones(3, 4, dtype=torch.float32) / 2
torch.manual_seed(0)
"""
FUNCTIONS = """
torch.rand(2)
torch.randn(2, 2)
torch.randint(0, 10, (3,))
torch.randperm(4)
torch.rand_like(x)
torch.randn_like(torch.ones(2))
torch.nn.functional.dropout(x)
torch.nn.functional.dropout(torch.ones(4))
torch.bernoulli(x)
torch.bernoulli(torch.ones(4) / 2)
torch.multinomial(x, 2)
torch.normal(x, x)
torch.poisson(x * 4)
torch.zeros(4).normal_()
x.clone().normal_()
x.new_zeros(2).uniform_()
torch.empty_like(x).exponential_()
torch.zeros(4).uniform_() + x
"""
NESTED = """
vmap(vmap(lambda x: torch.rand(2), randomness='different'), randomness='different')(o)
vmap(vmap(lambda x: torch.rand(2), randomness='same'), randomness='different')(o)
vmap(vmap(lambda x: torch.rand(2), randomness='different'), randomness='same')(o)
vmap(vmap(lambda x: torch.bernoulli(x), randomness='different'), randomness='different')(o)
vmap(vmap(lambda x: torch.rand(2), randomness='different'))(o)
grad(lambda o: vmap(lambda x: F.dropout(x) * x, randomness='different')(o).sum())(o)
vmap(grad(lambda x: (F.dropout(x) * x).sum()), randomness='different')(o)
jacfwd(lambda x: F.dropout(x) * x, randomness='same')(o[0])
vmap(lambda x: torch.rand(2) * x[:2], randomness='different', chunk_size=2)(o)
"""


@pytest.mark.oracle
@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("function", FUNCTIONS.strip().splitlines())
def test_random_functions(function, randomness):
    check_both(SETUP, f"vmap(lambda x: {function}, randomness={randomness!r})(o)")


@pytest.mark.oracle
@pytest.mark.parametrize("code", NESTED.strip().splitlines())
def test_nested(code):
    check_both(SETUP, code)


def test_samples_differ_or_not():
    x = flambeau.ones(3, 50)
    for mode, alike in (("same", True), ("different", False)):
        found = flambeau.vmap(lambda x: flambeau.rand_like(x), randomness=mode)(x)
        assert bool((found[0] == found[1]).all()) is alike
