"""channels_last inputs give channels_last results and gradients, with PyTorch's strides."""

import flambeau
from _programs import Programs

programs = Programs("nn_memory_format.json")
SHAPES = [(2, 3, 5, 6), (1, 3, 5, 6), (2, 1, 5, 6), (2, 3, 1, 6), (2, 3, 5, 1), (2, 3, 1, 1), (1, 1, 1, 1), (2, 8, 4, 4)]


def channels_last(t, x):
    return x.contiguous(memory_format=t.channels_last)


def strides(t, function, gradients=("same",)):
    """By shape and format of the input: the strides of the result, and of the gradient of the input for gradients of the
    result that lie as it does, contiguous, or channels-last."""
    found = []
    for shape in SHAPES:
        for last in (False, True):
            x = t.arange(float(t.Size(shape).numel())).reshape(shape)
            x = (channels_last(t, x) if last else x).requires_grad_()
            y = function(t.nn.functional, x, shape[1])
            plain = t.ones(*y.shape)
            laid = {"same": t.ones_like(y), "plain": plain, "last": channels_last(t, plain)}
            pulls = [t.autograd.grad(y, x, laid[g], retain_graph=True)[0] for g in gradients]
            found.append([list(y.stride()), *[list(g.stride()) for g in pulls]])
    return found


MIXED = ("same", "plain", "last")


@programs
def convolutions(t):
    ones = t.ones
    return [strides(t, function, MIXED) for function in (
        lambda f, x, c: f.conv2d(x, ones(4, c, 3, 3), padding=1),
        lambda f, x, c: f.conv2d(x, ones(4, c, 3, 3), ones(4), stride=2, padding=1),
        lambda f, x, c: f.conv2d(x, ones(4, c, 1, 1)),
        lambda f, x, c: f.conv2d(x, ones(1, c, 1, 1)),
        lambda f, x, c: f.conv2d(x, ones(c, 1, 3, 3), padding=1, groups=c),
        lambda f, x, c: f.conv2d(x, ones(4, c, 3, 3), padding="same"),
        lambda f, x, c: f.conv2d(x, channels_last(t, ones(4, c, 3, 3)), padding=1),
    )]


@programs
def transposed_convolutions(t):
    return [strides(t, function, MIXED) for function in (
        lambda f, x, c: f.conv_transpose2d(x, t.ones(c, 4, 2, 2), stride=2),
        lambda f, x, c: f.conv_transpose2d(x, channels_last(t, t.ones(c, 4, 2, 2)), stride=2),
    )]


@programs
def pooling(t):
    return [
        strides(t, lambda f, x, c: f.max_pool2d(x, 2, 1, 1), MIXED),
        strides(t, lambda f, x, c: f.max_pool2d(x, 3, 2, 1), MIXED),
        strides(t, lambda f, x, c: f.adaptive_max_pool2d(x, 2), MIXED),
        strides(t, lambda f, x, c: f.avg_pool2d(x, 2, 1, 1)),
        strides(t, lambda f, x, c: f.adaptive_avg_pool2d(x, 2)),
    ]


@programs
def indices_of_maxima(t):
    x = channels_last(t, t.ones(2, 3, 5, 6))
    return list(t.nn.functional.max_pool2d(x, 2, return_indices=True)[1].stride())


@programs
def norms(t):
    def batch_norm(f, x, c, training):
        return f.batch_norm(x, t.zeros(c), t.ones(c), t.ones(c), t.zeros(c), training)

    return [
        strides(t, lambda f, x, c: batch_norm(f, x, c, False), MIXED),
        strides(t, lambda f, x, c: f.group_norm(x, 1) if x[0, 0].numel() > 1 else x * 1, MIXED),
    ]


@programs
def whole_models(t):
    nn = t.nn
    t.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1),
                          nn.AvgPool2d(2), nn.GroupNorm(2, 4))
    x = channels_last(t, t.randn(2, 3, 8, 8)).requires_grad_()
    y = model(x)
    y.square().sum().backward()
    return [list(y.stride()), list(x.grad.stride()), y, x.grad]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


def test_volumes_keep_their_format():
    x = flambeau.ones(2, 3, 4, 5, 6).contiguous(memory_format=flambeau.channels_last_3d)
    y = flambeau.nn.functional.conv3d(x, flambeau.ones(4, 3, 1, 1, 1))
    assert y.is_contiguous(memory_format=flambeau.channels_last_3d)
