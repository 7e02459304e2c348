"""Files in the safetensors format are identical to those of ``safetensors.torch``, which also works under the alias."""

import os
import stat
import subprocess
import sys
import textwrap

import pytest

import flambeau
from flambeau import nn
from flambeau.serialization import safetensors

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex64 float8_e4m3fn float8_e5m2"


def things(t):
    """One of everything the format has; `t` is the library."""
    out = {name: t.arange(6).view(2, 3).to(getattr(t, name)) for name in DTYPES.split()}
    return out | {"scalar": t.tensor(2.5), "empty": t.empty(0, 3), "odd": t.ones(3, dtype=t.uint8), "parameter": t.nn.Parameter(t.ones(2))}


def shown(tensors):
    return {name: (str(x.dtype), list(x.shape), x.tolist()) for name, x in sorted(tensors.items())}


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.head = nn.Embedding(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 4, bias=False)
        self.head.weight = self.embed.weight


# ---- tensors


def test_round_trip(tmp_path):
    saved = things(flambeau)
    assert shown(safetensors.load(safetensors.save(saved))) == shown(saved)
    safetensors.save_file(saved, tmp_path / "a.safetensors", metadata={"epoch": "3"})
    assert shown(safetensors.load_file(tmp_path / "a.safetensors")) == shown(saved)
    assert shown(safetensors.load((tmp_path / "a.safetensors").read_bytes())) == shown(saved)


@pytest.mark.oracle
def test_files_as_torch(tmp_path):
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    ours = safetensors.save(things(flambeau), {"epoch": "3"})
    assert ours == theirs.save(things(torch), {"epoch": "3"})
    assert shown(theirs.load(ours)) == shown(things(torch))
    theirs.save_file(things(torch), tmp_path / "a")
    assert shown(safetensors.load_file(str(tmp_path / "a"))) == shown(things(torch))


def test_loaded_tensors_are_writable_and_the_file_is_unchanged(tmp_path):
    path = tmp_path / "a"
    safetensors.save_file({"x": flambeau.ones(2), "y": flambeau.ones(2)}, path)
    before = path.read_bytes()
    loaded = safetensors.load_file(path)
    loaded["x"].fill_(5)
    assert (loaded["x"].tolist(), loaded["y"].tolist()) == ([5, 5], [1, 1])
    assert loaded["x"].untyped_storage().nbytes() == 8
    assert path.read_bytes() == before


def test_a_file_is_replaced_at_once(tmp_path):
    path = tmp_path / "a"
    safetensors.save_file({"x": flambeau.zeros(3)}, path)
    path.chmod(0o640)
    mapped = safetensors.load_file(path)
    safetensors.save_file({"x": flambeau.ones(3)}, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a"]
    assert mapped["x"].tolist() == [0, 0, 0]  # of the old file
    assert safetensors.load_file(path)["x"].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="non contiguous"):
        safetensors.save_file({"x": flambeau.ones(2, 3).t()}, path)
    assert safetensors.load_file(path)["x"].tolist() == [1, 1, 1]


def test_elements_at_odd_addresses(tmp_path):
    """Other writers need not fill the header up."""
    header = b'{"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}'
    data = len(header).to_bytes(8, "little") + header + flambeau.arange(2.0).double().numpy().tobytes()
    (tmp_path / "a").write_bytes(data)
    for loaded in (safetensors.load(data), safetensors.load_file(tmp_path / "a")):
        assert (loaded["x"] + 1).tolist() == [1, 2]


@pytest.mark.jax
def test_tensors_on_other_devices(tmp_path):
    x = flambeau.arange(4.0, device="xla")
    safetensors.save_file({"x": x}, tmp_path / "a")
    loaded = safetensors.load_file(tmp_path / "a", device="xla")["x"]
    assert (loaded.device, loaded.tolist()) == (x.device, [0, 1, 2, 3])
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save({"x": x, "y": x[1:]})


# ---- bad input


def shared(t):
    x = t.ones(4)
    return {"a": x, "b": x[2:], "c": t.ones(1)}


# What safetensors.torch raises too, and with the same words.
REFUSED = {
    "no dict": (lambda t: [t.ones(1)], ValueError, r"Expected a dict of \[str, torch.Tensor\]"),
    "no tensor": (lambda t: {"a": 1}, ValueError, "Key `a` is invalid, expected torch.Tensor"),
    "no name": (lambda t: {1: t.ones(1)}, TypeError, "int"),
    "not contiguous": (lambda t: {"a": t.ones(2, 3).t()}, ValueError, "non contiguous tensor: `a`"),
    "sparse": (lambda t: {"a": t.eye(2).to_sparse()}, ValueError, "sparse"),
    "shared": (shared, RuntimeError, "share memory.*'a', 'b'"),
    "the same twice": (lambda t: dict.fromkeys("ab", t.ones(1)), RuntimeError, "share memory"),
}
OURS = {
    "no such dtype": (lambda t: {"a": t.ones(2, dtype=t.complex128)}, ValueError, "`a` is of torch.complex128"),
    "no elements": (lambda t: {"a": t.ones(2, device="meta")}, ValueError, "no elements to save"),
}


@pytest.mark.parametrize("name", [*REFUSED, *OURS])
def test_refused(name):
    make, error, message = (REFUSED | OURS)[name]
    with pytest.raises(error, match=message):
        safetensors.save(make(flambeau))


@pytest.mark.oracle
@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_torch(name):
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    make, error, message = REFUSED[name]
    if name == "shared":
        message = "share memory"  # the names are a set there
    with pytest.raises(error, match=message):
        theirs.save(make(torch))


def test_tensors_beside_each_other_in_one_memory_are_not_shared():
    x = flambeau.arange(4.0)
    assert shown(safetensors.load(safetensors.save({"a": x[:2], "b": x[2:]}))) == shown({"a": x[:2], "b": x[2:]})


@pytest.mark.parametrize("metadata", [{"a": 1}, {1: "a"}, {"a": None}], ids=str)
def test_metadata_are_text(metadata):
    with pytest.raises(TypeError, match="metadata is a dict of strings"):
        safetensors.save({}, metadata)


def test_damaged_files(tmp_path):
    whole = safetensors.save({"x": flambeau.ones(4)})
    for size in (*range(0, len(whole) - 1, 7), len(whole) - 1):
        (tmp_path / "a").write_bytes(whole[:size])
        with pytest.raises(safetensors.SafetensorError, match="cut off"):
            safetensors.load(whole[:size])
        with pytest.raises(safetensors.SafetensorError, match="cut off"):
            safetensors.load_file(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        safetensors.load_file(tmp_path / "none")
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        safetensors.save_file({}, tmp_path / "none" / "a")


# ---- models


def test_a_model_with_shared_weights(tmp_path):
    model, other, given = Tied(), Tied(), {"made": "today"}
    safetensors.save_model(model, tmp_path / "a", given)
    assert given == {"made": "today"}
    assert sorted(safetensors.load_file(tmp_path / "a")) == sorted(model.state_dict().keys() - {"head.weight"})
    assert b'"head.weight":"embed.weight"' in (tmp_path / "a").read_bytes()
    assert safetensors.load_model(other, tmp_path / "a") == (set(), [])
    assert shown(other.state_dict()) == shown(model.state_dict())
    assert other.head.weight is other.embed.weight


def test_a_file_that_has_kept_the_other_name(tmp_path):
    model, other = Tied(), Tied()
    tensors = model.state_dict()
    del tensors["embed.weight"]
    safetensors.save_file(tensors, tmp_path / "a")
    assert safetensors.load_model(other, tmp_path / "a") == (set(), [])
    assert shown(other.state_dict()) == shown(model.state_dict())


def test_names_that_do_not_fit(tmp_path):
    safetensors.save_file({"weight": flambeau.ones(2, 2), "more": flambeau.ones(1)}, tmp_path / "a")
    with pytest.raises(RuntimeError, match=r'loading state_dict for Linear:\s+Missing.*"bias"\s+Unexpected.*"more"'):
        safetensors.load_model(nn.Linear(2, 2), tmp_path / "a")
    assert safetensors.load_model(nn.Linear(2, 2), tmp_path / "a", strict=False) == ({"bias"}, ["more"])


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        x = flambeau.arange(6.0)
        self.a, self.b = nn.Parameter(x[:4]), nn.Parameter(x[2:])


def test_shared_memory_that_no_tensor_covers(tmp_path):
    with pytest.raises(RuntimeError, match="no suitable name to keep"):
        safetensors.save_model(Parts(), tmp_path / "a")


def test_strides_are_lost_if_allowed(tmp_path):
    layer = nn.Conv2d(2, 2, 2).to(memory_format=flambeau.channels_last)
    with pytest.raises(ValueError, match="force_contiguous=True"):
        safetensors.save_model(layer, tmp_path / "a", force_contiguous=False)
    safetensors.save_model(layer, tmp_path / "a")
    assert safetensors.load_file(tmp_path / "a")["weight"].tolist() == layer.weight.tolist()


# ---- the package's own functions, under the alias

PROGRAM = """
    import os, sys, torch
    from safetensors import safe_open
    from safetensors import torch as st
    os.chdir(sys.argv[1])

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            self.b.weight = self.a.weight

    dtypes = "DTYPES".split()
    tensors = {name: torch.arange(6).view(2, 3).to(getattr(torch, name)) for name in dtypes}
    st.save_file(tensors, "a.safetensors", {"made": "today"})
    for loaded in (st.load_file("a.safetensors"), st.load_file("a.safetensors", backend="pread"), st.load(st.save(tensors))):
        print(all(loaded[name].dtype == x.dtype and loaded[name].tolist() == x.tolist() for name, x in tensors.items()))
    with safe_open("a.safetensors", "pt") as file:
        part = file.get_slice("float32")
        print(file.metadata(), part.get_shape(), part.get_dtype(), part[:, 1:].tolist(), part[..., 0].tolist())
        print(file.get_tensor("bfloat16"))
    model, other = Tied(), Tied()
    st.save_model(model, "m.safetensors")
    print(st.load_model(other, "m.safetensors"), torch.equal(model.b.weight, other.a.weight))
    print(st.load(st.save({"s": torch.tensor(2.5), "e": torch.empty(0, 3)}))["e"].shape)
    x = torch.ones(4)
    for bad in ({"a": x, "b": x[1:]}, {"a": 1}, {"a": torch.ones(2, 3).t()}):
        try:
            st.save(bad)
        except Exception as error:
            print(type(error).__name__)
    print(1000 <= sys.getsizeof(torch.ones(250).untyped_storage()) < 1100)
""".replace("DTYPES", DTYPES)
PRINTED = [
    "True", "True", "True", "{'made': 'today'} [2, 3] F32 [[1.0, 2.0], [4.0, 5.0]] [0.0, 3.0]",
    "tensor([[0., 1., 2.],", "        [3., 4., 5.]], dtype=torch.bfloat16)", "(set(), []) True", "torch.Size([0, 3])",
    "RuntimeError", "ValueError", "ValueError", "True",
]


def printed(prelude, folder):
    program = prelude + textwrap.dedent(PROGRAM)
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_package_under_the_alias(tmp_path):
    assert printed("import flambeau; flambeau.alias.install()", tmp_path) == PRINTED


@pytest.mark.oracle
def test_the_package_on_torch(tmp_path):
    assert printed("", tmp_path) == PRINTED
