"""Programs of layers on which Flambeau once disagreed with PyTorch, as the differential tool found them, by class."""

import pytest

from _oracle import check_code

pytestmark = pytest.mark.oracle

OF_NOTHING = [  # norms of empty batches save nothing, and leave running statistics alone
    f"m = torch.nn.{layer}\nx = torch.zeros({shape}, requires_grad=True)\ny = m(x)\n{use}\n"
    "(y, x.grad, [p.grad for p in m.parameters()], list(m.buffers()))"
    for layer, shape in (
        ("BatchNorm1d(3)", "0, 3"), ("BatchNorm1d(3)", "2, 3, 0"), ("BatchNorm2d(3, affine=False)", "0, 3, 2, 2"), ("BatchNorm1d(3).eval()", "0, 3"),
        ("BatchNorm1d(3, track_running_stats=False)", "0, 3"), ("Sequential(torch.nn.BatchNorm2d(3), torch.nn.ReLU())", "0, 3, 2, 2"),
        ("InstanceNorm1d(3)", "0, 3, 2"), ("InstanceNorm1d(3)", "2, 3, 0"), ("InstanceNorm2d(3, affine=True)", "0, 3, 2, 2"),
        ("GroupNorm(3, 3)", "0, 3, 2"), ("GroupNorm(3, 3)", "2, 3, 0"), ("LayerNorm(3)", "0, 3"), ("RMSNorm(3)", "0, 3"),
    )
    for use in (
        "y.sum().backward()\ny.sum().backward()", "(y * y).sum().backward(retain_graph=True)\n(y * y).sum().backward()",
        "torch.autograd.grad((y * y).sum(), x, create_graph=True)[0].sum().backward()",
    )
] + ["torch.nn.functional.batch_norm(torch.zeros(2, 0), None, None, torch.ones(0), training=True)",
     "torch.nn.functional.batch_norm(torch.zeros(0, 3), None, None, torch.ones(5), training=True)"]


@pytest.mark.parametrize("code", OF_NOTHING)
def test_programs_agree(code):
    check_code(code)
