"""Checkpoints: PyTorch reads ours, we read PyTorch's, and nothing else gets in."""

import collections
import io
import os
import pickle
import zipfile

import pytest

import flambeau
from flambeau import nn
from flambeau.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals


def things(t):
    """One of everything a checkpoint usually holds; `t` is the library."""
    base = t.arange(6.0).view(2, 3)
    return {
        "matrix": base, "row": base[0], "transposed": base.t(), "scalar": t.tensor(3), "empty": t.empty(0, 3),
        "bool": t.tensor([True, False]), "half": t.ones(2, dtype=t.float16), "bf16": t.ones(2, dtype=t.bfloat16),
        "double": t.ones(2, dtype=t.float64), "int8": t.tensor([1, -1], dtype=t.int8), "complex": t.tensor([1 + 2j]),
        "trained": t.ones(2, requires_grad=True), "parameter": t.nn.Parameter(t.ones(2)), "size": base.shape,
        "dtype": t.float32, "device": t.device("cpu"), "epoch": 3, "loss": 0.25, "name": "net", "nothing": None,
        "nested": [1, (2.0, "x"), {"k": [t.zeros(1)]}, {1, 2}],
        "ordered": collections.OrderedDict(a=t.ones(1), b=1),
        "state": t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Linear(3, 1)).state_dict(),
    }


def assert_same(got, want):
    """Equal values of either library: types, dtypes, shapes, elements, containers."""
    if hasattr(want, "detach"):
        assert str(got.dtype) == str(want.dtype)
        assert list(got.shape) == list(want.shape)
        assert got.stride() == want.stride()
        assert got.requires_grad == want.requires_grad
        assert type(got).__name__ == type(want).__name__
        assert got.tolist() == want.tolist()
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, list | tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
    else:
        assert str(got) == str(want)


def round_trip(value, **kwargs):
    file = io.BytesIO()
    flambeau.save(value, file)
    file.seek(0)
    return flambeau.load(file, **kwargs)


def test_round_trip():
    saved = things(flambeau)
    assert_same(round_trip(saved), saved)


def test_views_still_share_memory():
    loaded = round_trip(things(flambeau))
    loaded["matrix"][0, 1] = 99
    assert loaded["row"].tolist() == [0, 99, 2]
    assert loaded["transposed"][1, 0].item() == 99


def test_state_dict_keeps_its_metadata():
    assert round_trip(nn.Linear(1, 1).state_dict())._metadata == {"": {"version": 1}}


@pytest.mark.oracle
def test_torch_reads_ours(tmp_path):
    torch = pytest.importorskip("torch")
    saved = things(flambeau)
    flambeau.save(saved, tmp_path / "ours.pt")
    loaded = torch.load(tmp_path / "ours.pt")
    assert_same(loaded, saved)
    loaded["matrix"][0, 1] = 99
    assert loaded["row"].tolist() == [0, 99, 2]


@pytest.mark.oracle
def test_we_read_torchs(tmp_path):
    torch = pytest.importorskip("torch")
    saved = things(torch)
    torch.save(saved, tmp_path / "theirs.pt")
    assert_same(flambeau.load(tmp_path / "theirs.pt"), saved)


def test_a_whole_module_needs_trust(tmp_path):
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    flambeau.save(net, tmp_path / "net.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"refers to flambeau\.nn.*Sequential.*add_safe_globals"):
        flambeau.load(tmp_path / "net.pt")
    loaded = flambeau.load(tmp_path / "net.pt", weights_only=False)
    assert repr(loaded) == repr(net)
    x = flambeau.ones(1, 2)
    assert loaded(x).tolist() == net(x).tolist()


class Evil:
    def __reduce__(self):
        return os.system, ("exit 1",)


def test_restricted_load_runs_nothing(tmp_path):
    flambeau.save({"x": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"posix\.system|nt\.system"):
        flambeau.load(tmp_path / "evil.pt")


def handmade(opcodes):
    """An archive whose pickle is given byte by byte."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", opcodes)
        archive.writestr("archive/byteorder", "little")
    file.seek(0)
    return file


def test_restricted_load_sets_no_attributes():
    """The state of a global object, here a dtype, cannot be changed by a file."""
    opcodes = b"\x80\x02ctorch\nfloat32\nN}X\x04\x00\x00\x00nameX\x04\x00\x00\x00evils\x86b."
    with pytest.raises(pickle.UnpicklingError, match="attributes of a dtype"):
        flambeau.load(handmade(opcodes))
    assert flambeau.float32.name == "float32"


@pytest.mark.parametrize("opcodes", [b"", b"\x80\x02", b"\x80\x02b.", b"\x80\x02K\x01R.", b"\x80\x02\xff."])
def test_broken_pickles(opcodes):
    with pytest.raises(pickle.UnpicklingError, match="cannot be read"):
        flambeau.load(handmade(opcodes))


class Settings:
    def __init__(self, rate):
        self.rate = rate


def test_allowed_classes():
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        round_trip(Settings(0.1))
    with safe_globals([Settings]):
        assert round_trip(Settings(0.1)).rate == 0.1
    assert get_safe_globals() == []
    add_safe_globals([Settings])
    assert round_trip({"s": Settings(0.2)})["s"].rate == 0.2
    clear_safe_globals()
    assert get_safe_globals() == []


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "net.pt"
    flambeau.save({"a": 1}, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        flambeau.save({"a": lambda: 1}, path)
    assert flambeau.load(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["net.pt"]


@pytest.mark.parametrize("keep", [0, 10, 100, 400])
def test_cut_off_files(tmp_path, keep):
    whole = io.BytesIO()
    flambeau.save(things(flambeau), whole)
    path = tmp_path / "cut.pt"
    path.write_bytes(whole.getvalue()[:keep])
    with pytest.raises(RuntimeError, match="not a checkpoint, or it is cut off"):
        flambeau.load(path)


def test_tensor_beyond_its_storage():
    file = io.BytesIO()
    flambeau.save(flambeau.ones(4), file)
    with zipfile.ZipFile(file) as archive:
        pickled = archive.read("archive/data.pkl")
        data = archive.read("archive/data/0")
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w") as archive:
        archive.writestr("archive/data.pkl", pickled.replace(b"K\x04\x85", b"K\x40\x85"))
        archive.writestr("archive/data/0", data)
    forged.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="reaches beyond"):
        flambeau.load(forged)


def test_wrong_arguments(tmp_path):
    with pytest.raises(AttributeError, match="with a 'write' attribute"):
        flambeau.save({}, 3)
    with pytest.raises(AttributeError, match="with a 'read' attribute"):
        flambeau.load(3)
    with pytest.raises(FileNotFoundError):
        flambeau.load(tmp_path / "missing.pt")
    with pytest.raises(RuntimeError, match="does not exist"):
        flambeau.save({}, tmp_path / "missing" / "net.pt")
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        flambeau.save({}, tmp_path / "a.pt")
        flambeau.load(tmp_path / "a.pt", pickle_module=pickle)


@pytest.mark.oracle
def test_meta_tensors_are_saved_as_torch_saves_them(tmp_path):
    torch = pytest.importorskip("torch")
    for ours, theirs in ((flambeau, torch), (torch, flambeau)):
        net = ours.nn.Linear(3, 2, device="meta")
        ours.save([net.state_dict(), net.bias, net.weight.t()], tmp_path / "meta.pt")
        state, bias, turned = theirs.load(tmp_path / "meta.pt")
        assert list(state) == ["weight", "bias"] and isinstance(bias, theirs.nn.Parameter) and bias.requires_grad
        assert [(x.device.type, x.shape) for x in (bias, turned)] == [("meta", (2,)), ("meta", (3, 2))]


def test_map_location():
    loaded = round_trip(nn.Parameter(flambeau.ones(2)), map_location="meta")
    assert loaded.is_meta and loaded.shape == (2,) and isinstance(loaded, nn.Parameter)
    for where in ("cpu", flambeau.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage):
        assert round_trip(flambeau.ones(2), map_location=where).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="XLA engine"):
        round_trip(flambeau.ones(2), map_location="cuda")
