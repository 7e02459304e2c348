"""Checkpoints: each library reads the other's, and nothing unsafe is loaded."""

import collections
import io
import pickle
import sys
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
        "uint16": t.ones(2, dtype=t.uint16), "uint64": t.ones((), dtype=t.uint64), "f8": t.ones(2, dtype=t.float8_e5m2),
        "expanded": t.ones(1).expand(3), "last": t.arange(3)[2:], "deep": t.ones([1] * 40), "void": t.empty(2, 0, 3),
        "bytes": b"\x00\xff", "bytearray": bytearray(b"ab"), "big": 2**200, "negative": -3, "inf": float("inf"),
        "text": "\u00e9\u4e2d", "number": 1 + 2j, "counted": collections.Counter("aab"), "layout": t.strided,
        "complex128": t.tensor([1 + 2j], dtype=t.complex128), "column": base[:, 1],
        "computed": t.ones(2, requires_grad=True) * 2, "frozen": t.nn.Parameter(t.ones(2), requires_grad=False),
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


def test_wrong_arguments(tmp_path):
    with pytest.raises(AttributeError, match="with a 'write' attribute"):
        flambeau.save({}, 3)
    with pytest.raises(AttributeError, match=r"only torch\.load from a file that is seekable"):
        flambeau.load(3)
    with pytest.raises(FileNotFoundError):
        flambeau.load(tmp_path / "missing.pt")
    with pytest.raises(RuntimeError, match="does not exist"):
        flambeau.save({}, tmp_path / "missing" / "net.pt")
    flambeau.save({}, tmp_path / "a.pt")
    assert flambeau.load(tmp_path / "a.pt", pickle_module=pickle) == {}
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        flambeau.load(tmp_path / "a.pt", pickle_module=pickle, weights_only=True)
    with pytest.raises(TypeError, match="mode 'rb'"), open(tmp_path / "a.pt", errors="replace") as file:
        flambeau.load(file)


@pytest.mark.oracle
def test_meta_tensors_are_saved_as_torch_saves_them(tmp_path):
    torch = pytest.importorskip("torch")
    for ours, theirs in ((flambeau, torch), (torch, flambeau)):
        net = ours.nn.Linear(3, 2, device="meta")
        ours.save([net.state_dict(), net.bias, net.weight.t()], tmp_path / "meta.pt")
        state, bias, turned = theirs.load(tmp_path / "meta.pt")
        assert list(state) == ["weight", "bias"] and isinstance(bias, theirs.nn.Parameter) and bias.requires_grad
        assert [(x.device.type, x.shape) for x in (bias, turned)] == [("meta", (2,)), ("meta", (3, 2))]


LOCATIONS = {
    "cpu": "cpu", "device": flambeau.device("cpu"), "dict": {"cpu": "cpu"}, "other dict": {"cuda:0": "cpu"},
    "function": lambda storage, location: storage, "no answer": lambda storage, location: None,
}


@pytest.mark.parametrize("where", LOCATIONS.values(), ids=LOCATIONS)
def test_map_location(where):
    assert round_trip(flambeau.ones(2), map_location=where).tolist() == [1, 1]


@pytest.mark.parametrize("where", ["meta", flambeau.device("meta"), {"cpu": "meta"}], ids=str)
def test_map_location_to_meta(where):
    loaded = round_trip(nn.Parameter(flambeau.ones(2)), map_location=where)
    assert loaded.is_meta and loaded.shape == (2,) and isinstance(loaded, nn.Parameter)


@pytest.mark.jax
@pytest.mark.parametrize("where", ["xla", flambeau.device("xla:0"), {"cpu": "xla"}], ids=str)
def test_map_location_to_a_device(where):
    loaded, plain = [round_trip(things(flambeau), map_location=place) for place in (where, None)]
    for name, t in plain.items():
        if isinstance(t, flambeau.Tensor):
            assert loaded[name].device.type == "xla"
            assert_same(loaded[name], t)
    for tensors in (loaded, plain):
        tensors["row"].add_(10)
        tensors["column"].mul_(2)
    assert [loaded[name].tolist() for name in ("matrix", "transposed")] == [
        plain[name].tolist() for name in ("matrix", "transposed")]


def raising(storage, location):
    raise KeyError("of the caller")


@pytest.mark.parametrize("where, error, message", [
    ("cuda", RuntimeError, "on a CUDA device"), ({"cpu": "cuda:1"}, RuntimeError, "map_location"), (3, TypeError, "callable"),
    ("nonsense", RuntimeError, "tagged with nonsense"), (["cpu"], TypeError, "callable"),
    (lambda storage, location: 3, TypeError, "UntypedStorage"), (raising, KeyError, "of the caller"),
], ids=["cuda", "dict", "number", "nonsense", "list", "no storage", "raises"])
def test_wrong_map_location(where, error, message):
    with pytest.raises(error, match=message):
        round_trip(flambeau.ones(2), map_location=where)


def test_map_location_is_called_once_a_storage():
    calls, x = [], flambeau.arange(4.0)
    round_trip([x, x[1:]], map_location=lambda storage, location: calls.append((storage.tolist(), location)))
    assert calls == [(x.untyped_storage().tolist(), "cpu")]


# ---- memory of several dtypes, storages


def pairs(t):
    """Things that share memory; PyTorch refuses those that see it as different types."""
    a, c, wide = t.arange(4.0), t.ones(2, dtype=t.complex64), t.ones(4, dtype=t.uint16)
    return {
        "tensor and its bits": [a, a.view(t.int32)], "complex and real": [c, t.view_as_real(c)],
        "tensor and bytes": [a, a.untyped_storage()], "bits": [a.view(t.int32)], "parts": [a, a[1:], a[:2].view(2, 1)],
        "storage and tensor": [t.FloatStorage([1, 2])], "bytes": [a.untyped_storage()], "half": [a.view(t.float16)],
        "without storages": [wide, wide.view(t.uint32)], "with and without": [wide, wide.view(t.int16)],
        "in attributes": [attributed(t, a, bits=a.view(t.int32))], "empty": [a[:0], a[:0].view(t.int32)],
        "empty storages": [t.empty(0), t.empty(0, dtype=t.int32)],
    }


def attributed(t, x, **attributes):
    x = x.view_as(x)
    x.__dict__.update(attributes)
    return x


def outcome_of_saving(value, library):
    file = io.BytesIO()
    try:
        library.save(value, file)
    except RuntimeError as error:
        assert "Cannot save multiple tensors or storages that view the same data as different types" in str(error)
        return "RuntimeError"
    return file


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", pairs(flambeau))
def test_shared_memory_as_torch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome_of_saving(pairs(library)[name], library) for library in (flambeau, torch))
    assert isinstance(ours, str) == isinstance(theirs, str)
    if not isinstance(ours, str):
        for file in (ours, theirs):
            results = []
            for library in (flambeau, torch):
                file.seek(0)
                results.append([(type(x).__name__, str(x.dtype), x.tolist()) for x in library.load(file)])
            assert results[0] == results[1]


def test_memory_of_two_dtypes_is_refused():
    for name in ("tensor and its bits", "complex and real", "tensor and bytes", "in attributes"):
        assert outcome_of_saving(pairs(flambeau)[name], flambeau) == "RuntimeError"


# ---- attributes and subclasses


class Marked(flambeau.Tensor):
    """A subclass of ours; `marked_torch` makes the one of PyTorch."""


class Slotted(flambeau.Tensor):
    __slots__ = ("mark",)


def test_attributes_and_subclasses():
    x, p, b = flambeau.ones(2), nn.Parameter(flambeau.ones(2)), nn.Buffer(flambeau.ones(2), persistent=False)
    x.note = p.note = {"a": [1]}
    marked, slotted = flambeau.ones(2).as_subclass(Marked), flambeau.ones(2).as_subclass(Slotted)
    marked.note, slotted.mark, slotted.note = "m", 1, 2
    x_, p_, b_ = round_trip([x, p, b])
    assert x_.note == p_.note == {"a": [1]} and type(x_) is flambeau.Tensor and type(p_) is nn.Parameter
    assert isinstance(b_, nn.Buffer) and b_.persistent is False and not isinstance(x_, nn.Buffer)
    with pytest.raises(pickle.UnpicklingError, match="Marked"):
        round_trip(marked)
    with safe_globals([Marked, Slotted]):
        marked_, slotted_ = round_trip([marked, slotted])
    assert type(marked_) is Marked and marked_.note == "m"
    for loaded in (slotted_, pickle.loads(pickle.dumps(slotted))):
        assert type(loaded) is Slotted and (loaded.mark, loaded.note) == (1, 2)


def with_attributes(t):
    x, p, c = t.arange(4.0), t.nn.Parameter(t.ones(2)), t.ones(2, dtype=t.uint16)
    x.note, p.note, c.note = "x", {"scale": t.ones(1)}, b"c"
    m = t.ones(2, device="meta")
    m.note = "m"
    return {"x": x, "p": p, "c": c, "m": m, "b": t.nn.Buffer(t.ones(2)), "view": attributed(t, x[1:3], note="view")}


@pytest.mark.oracle
def test_attributes_travel_both_ways(tmp_path):
    torch = pytest.importorskip("torch")
    for ours, theirs in ((flambeau, torch), (torch, flambeau), (flambeau, flambeau)):
        ours.save(with_attributes(ours), tmp_path / "a.pt")
        for weights_only in (True, False):
            loaded = theirs.load(tmp_path / "a.pt", weights_only=weights_only)
            assert [loaded[k].note for k in "xcm"] == ["x", b"c", "m"] and loaded["view"].note == "view"
            assert loaded["p"].note["scale"].tolist() == [1] and type(loaded["p"]) is theirs.nn.Parameter
            assert isinstance(loaded["b"], theirs.nn.Buffer) and loaded["b"].persistent
            loaded["x"][1] = 7
            assert loaded["view"].tolist() == [7, 2]


@pytest.mark.oracle
def test_subclasses_travel_both_ways(tmp_path):
    torch = pytest.importorskip("torch")
    classes = {flambeau: Marked, torch: type("Marked", (torch.Tensor,), {"__module__": __name__})}
    for ours, theirs in ((flambeau, torch), (torch, flambeau)):
        globals()["Marked"] = classes[ours]  # pickle looks whether the name leads to the class
        try:
            x = ours.ones(2).as_subclass(classes[ours])
            x.note = 3
            ours.save(x, tmp_path / "a.pt")
        finally:
            globals()["Marked"] = classes[flambeau]
        with theirs.serialization.safe_globals([(classes[theirs], f"{__name__}.Marked")]):
            loaded = theirs.load(tmp_path / "a.pt")
        assert type(loaded) is classes[theirs] and loaded.note == 3


@pytest.mark.oracle
def test_lazy_parameters_travel_both_ways(tmp_path):
    torch = pytest.importorskip("torch")
    for ours, theirs in ((flambeau, torch), (torch, flambeau)):
        ours.save([ours.nn.UninitializedParameter(), ours.nn.parameter.UninitializedBuffer()], tmp_path / "a.pt")
        parameter, buffer = theirs.load(tmp_path / "a.pt", weights_only=False)
        assert type(parameter) is theirs.nn.UninitializedParameter and parameter.requires_grad
        assert type(buffer) is theirs.nn.parameter.UninitializedBuffer


@pytest.mark.oracle
def test_conjugates_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.tensor([1 + 2j])
    torch.save(x.conj(), tmp_path / "a.pt")
    assert flambeau.load(tmp_path / "a.pt").tolist() == [1 - 2j]
    torch.save(x.conj().imag, tmp_path / "a.pt")
    assert flambeau.load(tmp_path / "a.pt").tolist() == [-2]


def test_the_legacy_format_can_be_written():
    file = io.BytesIO()
    flambeau.save(saved := things(flambeau), file, _use_new_zipfile_serialization=False)
    assert not zipfile.is_zipfile(file)
    file.seek(0)
    assert_same(flambeau.load(file), saved)


@pytest.mark.oracle
def test_pytorch_reads_the_old_format():
    import torch

    file = io.BytesIO()
    x = flambeau.arange(6.0).view(2, 3)
    flambeau.save({"x": x, "view": x[1:], "n": flambeau.tensor(3)}, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    loaded = torch.load(file)
    loaded["view"].zero_()
    assert loaded["x"].tolist() == [[0, 1, 2], [0, 0, 0]]
    assert loaded["n"].item() == 3


@pytest.mark.parametrize("protocol", range(1, 6))
def test_protocols(protocol):
    file = io.BytesIO()
    saved = things(flambeau)
    flambeau.save(saved, file, pickle_protocol=protocol)
    file.seek(0)
    assert_same(flambeau.load(file), saved)


def test_the_other_byte_order():
    dtypes = ("int8", "int16", "float16", "bfloat16", "float32", "int64", "complex64", "complex128", "bool")
    saved = [flambeau.tensor([1, 0, 2]).to(getattr(flambeau, name)) for name in dtypes]
    swapped = []
    for x in saved:
        a = x.numpy() if x.dtype is not flambeau.bfloat16 else x.view(flambeau.int16).numpy()
        swapped.append(flambeau.from_numpy(a.byteswap()).view(x.dtype))
    file, order = io.BytesIO(), b"big" if sys.byteorder == "little" else b"little"
    flambeau.save(swapped, file)
    assert_same(flambeau.load(rezipped(file.getvalue(), byteorder=order)), saved)


def rezipped(data, **changes):
    """The archive with some entries changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            target.writestr(name, changes.get(name.rpartition("/")[2], source.read(name)))
    out.seek(0)
    return out


def test_the_same_object_gives_the_same_file():
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        flambeau.save(things(flambeau)["nested"], file)
    assert files[0].getvalue() == files[1].getvalue()


def test_entries_are_aligned():
    file = io.BytesIO()
    flambeau.save([flambeau.ones(n) for n in range(5)], file)
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            assert (info.header_offset + 30 + len(info.filename) + len(info.extra or padding(file, info))) % 64 == 0


def padding(file, info):
    """The extra field of an entry itself; the directory does not repeat it."""
    start = info.header_offset
    return bytes(int.from_bytes(file.getvalue()[start + 28: start + 30], "little"))
