"""Names that exist for old programs, and for programs written for several devices."""

import pytest

import flambeau

nn = flambeau.nn


def test_container_warns_and_holds_its_children():
    with pytest.warns(FutureWarning, match=r"`nn.Container` is deprecated"):
        box = nn.Container(first=nn.Linear(1, 2), second=nn.ReLU())
    assert [name for name, _ in box.named_children()] == ["first", "second"]
    assert list(box.state_dict()) == ["first.weight", "first.bias"]


def test_data_parallel_calls_the_module_as_it_is():
    inner = nn.Linear(2, 3)
    module = nn.DataParallel(inner, device_ids=[0], output_device=0, dim=1)
    x = flambeau.ones(4, 2)
    assert module.module is inner and module.device_ids == [] and list(module.state_dict()) == ["module.weight", "module.bias"]
    assert (module(x) == inner(x)).all()
    assert (nn.parallel.data_parallel(inner, x) == inner(x)).all()
    assert (nn.parallel.data_parallel(inner, (), module_kwargs={"input": x}) == inner(x)).all()


def test_converted_batch_norms_keep_parameters_and_statistics():
    norm = nn.BatchNorm2d(3, eps=0.1, momentum=None).eval()
    net = nn.Sequential(nn.Conv2d(1, 3, 1), nn.Sequential(norm), nn.InstanceNorm2d(3))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net, "a group")
    made = converted[1][0]
    assert converted is net and type(made) is nn.SyncBatchNorm and type(net[2]) is nn.InstanceNorm2d
    assert (made.eps, made.momentum, made.training, made.process_group) == (0.1, None, False, "a group")
    assert made.weight is norm.weight and made.running_mean is norm.running_mean


def test_factory_kwargs():
    made = nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": flambeau.float64}})
    assert made == {"device": "cpu", "dtype": flambeau.float64} and nn.factory_kwargs(None) == {}
