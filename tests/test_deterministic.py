"""Deterministic mode: uninitialized memory is filled, as in PyTorch."""

import pytest

import flambeau
from _oracle import check_code

CALLS = """
torch.empty(2)
torch.empty(2, dtype=torch.bool)
torch.empty(2, dtype=torch.uint8)
torch.empty(2, dtype=torch.int64)
torch.empty(2, dtype=torch.uint16)
torch.empty(2, dtype=torch.complex64)
torch.empty(2, dtype=torch.bfloat16)
torch.empty(2, dtype=torch.float8_e5m2).float()
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
torch.empty(2, requires_grad=True)
torch.empty(2, out=torch.ones(2))
torch.empty(2, out=torch.ones(0))
torch.empty(2, device='meta')
torch.empty_like(torch.ones(2))
torch.empty_like(torch.ones(2, 3).t())
torch.empty_strided((2, 2), (1, 2))
torch.empty_permuted((2, 2), (1, 0))
torch.ones(2).new_empty(2)
torch.ones(2).new_empty((2,), dtype=torch.int8)
torch.ones(2).new_empty_strided((2,), (1,))
torch.ones(2).resize_(4)
torch.ones(2).resize_as_(torch.ones(3))
torch.ones(4).resize_(2).resize_(4)
torch.arange(4)[1:3].resize_(5)
torch.ones(2).new(3)
torch.Tensor(2)
torch.LongTensor(2)
torch.Tensor(torch.Size([2]))
torch.zeros(2), torch.ones(2), torch.full((2,), 3)
torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()
"""


@pytest.fixture
def deterministic():
    """Both libraries in deterministic mode."""
    libraries = [flambeau, pytest.importorskip("torch")]
    for t in libraries:
        t.use_deterministic_algorithms(True)
    yield
    for t in libraries:
        t.use_deterministic_algorithms(False)


@pytest.mark.oracle
@pytest.mark.parametrize("code", CALLS.strip().splitlines())
def test_agrees_with_torch(deterministic, code):
    check_code(code)


def test_memory_is_filled_only_in_deterministic_mode():
    settings = flambeau.utils.deterministic
    assert settings.fill_uninitialized_memory is True
    flambeau.use_deterministic_algorithms(True)
    try:
        assert flambeau.empty(3).isnan().all()
        assert flambeau.empty(3, dtype=flambeau.int8).tolist() == [127] * 3
        settings.fill_uninitialized_memory = False
        assert not flambeau.ones(3).resize_(2).isnan().any()
        with pytest.raises(TypeError, match="must be a bool"):
            settings.fill_uninitialized_memory = 1
    finally:
        settings.fill_uninitialized_memory = True
        flambeau.use_deterministic_algorithms(False)
    assert not flambeau.functions._determinism.determinism.fills
