"""Arguments of a wrong type: refused with PyTorch's type of error, before anything is computed."""

import pytest

import flambeau
from _oracle import check_code, outcome

MATRIX, VECTOR = "torch.ones(2, 2)", "torch.ones(3)"
CALLS = {  # where V stands for what is tried: some of it is right
    bool: [
        f"torch.unique({VECTOR}, V)", f"torch.svd({MATRIX}, V)[1]",
        f"torch.qr({MATRIX}, V)[1].abs()", "torch.cholesky_inverse(torch.eye(2), V)", f"torch.linalg.svd({MATRIX}, V)[1]",
        f"torch.dropout({VECTOR}, 0.0, V)", "torch.cholesky(torch.eye(2), V)", f"torch.combinations({VECTOR}, 2, V)", f"torch.vander({VECTOR}, 2, V)",
        f"torch.nn.functional.poisson_nll_loss({VECTOR}, {VECTOR}, V)",
    ],
    int: [
        f"torch.rot90({MATRIX}, V)", f"torch.combinations({VECTOR}, V)", f"torch.vander({VECTOR}, V)", "torch.fft.fftfreq(V)", "torch.fft.rfftfreq(V)",
        "torch.nn.functional.one_hot(torch.tensor([0]), V)", "torch.group_norm(torch.ones(2, 4, 3), V)", f"torch.diag_embed({VECTOR}, V)",
        f"torch.diagflat({VECTOR}, V)", f"torch.diff({VECTOR}, V)", f"torch.histc({VECTOR}, V)", f"torch.unique({MATRIX}, dim=V)",
        f"torch.multinomial({VECTOR}, V).shape",
    ],
    float: [
        f"torch.nn.functional.{name}({VECTOR} - 2, V)" for name in ("elu", "celu", "leaky_relu", "softplus", "hardshrink", "elu_", "celu_", "leaky_relu_")
    ] + [
        f"torch.threshold({VECTOR}, V, 2)", f"torch.threshold({VECTOR}, 0, V)", f"torch.nn.functional.softplus({VECTOR}, 1.0, V)",
        f"torch.logit({VECTOR} / 2, V)", f"torch.pinverse({MATRIX}, V)", f"{VECTOR}.normal_(V).shape", f"{VECTOR}.normal_(0, V).shape", f"{VECTOR}.cauchy_(V).shape",
        f"{VECTOR}.log_normal_(V).shape", f"{VECTOR}.exponential_(V).shape", f"torch.nn.functional.hinge_embedding_loss({VECTOR}, {VECTOR}, V)",
        f"torch.nn.functional.smooth_l1_loss({VECTOR}, {VECTOR} - 3, beta=V)", f"torch.nn.functional.huber_loss({VECTOR}, {VECTOR} - 3, delta=V)",
        f"torch.nn.functional.cross_entropy({VECTOR}, torch.tensor(1), label_smoothing=V)", f"torch.nn.functional.rms_norm({MATRIX}, (2,), eps=V)",
        f"torch.nn.functional.multi_margin_loss({MATRIX}, torch.tensor([0, 1]), margin=V)",
        f"torch.nn.functional.batch_norm({MATRIX}, torch.zeros(2), torch.ones(2), eps=V)",
        f"torch.addcmul({VECTOR}, {VECTOR}, {VECTOR}, value=V)", f"torch.addcdiv({VECTOR}, {VECTOR}, {VECTOR}, value=V)",
        f"torch.fake_quantize_per_tensor_affine({VECTOR}, V, 0, -5, 5)", f"torch.rsub({VECTOR}, 1, alpha=V)",
    ],
    str: [f"torch.linalg.qr({MATRIX}, V)[1].abs()", f"torch.segment_reduce({VECTOR}, V, lengths=torch.tensor([3]))", f"torch.nn.functional.gelu({VECTOR}, approximate=V)"],
}
TRIED = ["True", "1", "0.5", "'reduced'", "'sum'", "None", "()", "[0, 0]", MATRIX, "torch.tensor(1)", "torch.tensor(0.5)", "torch.tensor(0.5, requires_grad=True)",
         "np.int64(1)", "np.float32(0.5)", "np.float64(0.5)", "np.ones(2)"]
WITHOUT_VALUES = [f"{x}.{name}()" for x in (VECTOR, "torch.tensor(1.0)", "torch.ones(0)")
                  for name in ("expand", "flip", "permute", "repeat", "reshape", "resize_", "sum_to_size", "tile", "broadcast_to", "view")]
WITHOUT_VALUES += [f"{MATRIX}.{name}({argument}=(2, 2))" for name in ("expand", "reshape", "view", "repeat", "permute") for argument in ("size", "shape", "repeats", "dims", "foo")]
NO_TENSORS = [f"torch.{name}({value})" for name in ("exp_", "abs_", "relu_", "clamp_", "nan_to_num_", "zero_", "detach", "detach_", "selu_", "celu_", "xlogy_")
              for value in ("'a'", "None", "[torch.ones(2)]", "np.ones(2)")]


@pytest.mark.oracle
@pytest.mark.parametrize("call", [call for calls in CALLS.values() for call in calls])
def test_types_of_arguments(call):
    for value in TRIED:
        check_code(call.replace("V", value), strides=False)


@pytest.mark.oracle
@pytest.mark.parametrize("code", [*WITHOUT_VALUES, *NO_TENSORS])
def test_calls_without_values(code):
    check_code(code)


@pytest.mark.parametrize("call, message", [
    (lambda x: flambeau.svd(x, "a"), r"svd\(\): argument 'some' \(position 2\) must be bool, not str"),
    (lambda x: flambeau.rot90(x, True), r"rot90\(\): argument 'k' \(position 2\) must be int, not bool"),
    (lambda x: flambeau.nn.functional.elu(x, [1.0]), r"elu\(\): argument 'alpha' \(position 2\) must be Number, not list"),
    (lambda x: x.reshape(), r'reshape\(\) missing 1 required positional arguments: "shape"'),
    (lambda x: x.flip(), r'flip\(\) missing 1 required positional arguments: "dims"'),
    (lambda x: flambeau.exp_([x]), r"exp_\(\): argument 'input' \(position 1\) must be Tensor, not list"),
])
def test_messages(call, message):
    with pytest.raises(TypeError, match=message):
        call(flambeau.eye(2))


METHODS = [  # calls of methods with one wrong argument; the functions of these names are called likewise
    "tril('a')", "cumsum('a')", "topk('a')", "unsqueeze('a')", "transpose(0, 'a')", "diagonal('a')", "diag('a')",
    "chunk('a')", "flip('a')", "roll('ab')", "kthvalue('a')", "median('a')", "renorm(2, 0, 'a')", "softmax('a')",
    "logsumexp('a')", "index_select('a', torch.tensor([0]))", "flatten('a')", "mvlgamma('a')", "multinomial('a')",
    "unbind('a')", "select('a', 0)", "allclose('a')", "addcmul('a', 1)", "histc('a')", "nan_to_num('a')", "rot90('a')",
    "swapaxes('a', 0)", "unflatten('a', (1, 2))", "expand('a')", "permute('a')", "reshape('a')", "matmul('a')",
    "dot('a')", "hardshrink('a')", "tile('a')", "diag_embed('a')", "cross('a')", "argmax('a')", "cummax('a')",
    "unfold('a', 1, 1)", "uniform_('a')", "normal_('a')", "tril_('a')", "cumsum_('a')", "renorm_(2, 0, 'a')",
    "masked_select('a')", "lerp('a', 1)", "baddbmm('a', 'b')", "logcumsumexp('a')", "pinverse('a')", "diff('a')",
]


def as_function(call):
    name, _, arguments = call.partition("(")
    return f"torch.{name}(torch.ones(2, 2), {arguments}"


@pytest.mark.oracle
@pytest.mark.parametrize("call", METHODS)
def test_messages_name_the_function_the_argument_and_its_place(call):
    import torch

    for code in (f"torch.ones(2, 2).{call}", as_function(call)):
        got, want = (outcome(code, library)[1] for library in (flambeau, torch))
        if want is not None and "): argument" in str(want):  # PyTorch lists all overloads where there are several
            assert str(got).partition(" must be")[0] == str(want).partition(" must be")[0]


@pytest.mark.parametrize("code, words", [
    ("torch.ones(2).roll('ab')", "roll(): argument 'shifts' (position 1) must be tuple of ints, not str"),
    ("torch.roll(torch.ones(2), 'ab')", "roll(): argument 'shifts' (position 2) must be tuple of ints, not str"),
    ("torch.nn.Linear(2, 2)('ab')", "linear(): argument 'input' (position 1) must be Tensor, not str"),
    ("torch.ones(2, 2).diag(diagonal='a')", "diag(): argument 'diagonal' (position 1) must be int, not str"),
])
def test_message_without_the_oracle(code, words):
    assert str(outcome(code, flambeau)[1]) == words
