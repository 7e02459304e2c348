"""Untrusted files: what a restricted load refuses, and how it handles damaged and forged archives."""

import functools
import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile
import zlib

import pytest

import flambeau
from flambeau import nn
from flambeau.serialization import safe_globals


class Calls:
    """Pickled as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def saved(value):
    file = io.BytesIO()
    flambeau.save(value, file)
    file.seek(0)
    return file


def handmade(opcodes, **entries):
    """An archive whose pickle is written byte by byte."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", opcodes)
        for name, data in entries.items():
            archive.writestr(f"archive/data/{name.removeprefix('_')}", data)
    file.seek(0)
    return file


# ---- what may be called

# PyTorch blocks these modules whatever was allowed; everything else is up to the user.
CALLS = [
    (os.system, "true"), (os.getcwd,), (sys.getsizeof, 1), (eval, "1"), (len, "ab"), (getattr, 1, "real"),
    (functools.partial, len), (os.path.join, "a", "b"),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_nothing_is_called_that_was_not_allowed(call):
    with pytest.raises(pickle.UnpicklingError, match=r"refers to|is blocked"):
        flambeau.load(saved(Calls(*call)))


@pytest.mark.parametrize("call", CALLS[:3], ids=lambda call: call[0].__name__)
def test_blocked_modules_are_blocked_also_if_allowed(call):
    function = call[0]
    for allowed in ([function], [(function, f"{function.__module__}.{function.__name__}")]):
        with safe_globals(allowed), pytest.raises(pickle.UnpicklingError, match=r"module (posix|nt|sys) is blocked"):
            flambeau.load(saved(Calls(*call)))


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_allowed_calls_as_torch(call):
    torch = pytest.importorskip("torch")
    results = []
    for library in (flambeau, torch):
        file = io.BytesIO()
        library.save(Calls(*call), file)
        file.seek(0)
        with library.serialization.safe_globals([call[0], len]):
            try:
                results.append(repr(library.load(file)))
            except pickle.UnpicklingError:
                results.append("refused")
    assert results[0] == results[1]


@pytest.mark.oracle
@pytest.mark.parametrize("module", ["os", "sys", "posix", "nt", "os.path", "subprocess", "shutil", "builtins", "mine"])
def test_modules_as_torch(module):
    torch = pytest.importorskip("torch")
    opcodes = b"\x80\x02c" + module.encode() + b"\nthing\n)R."
    results = []
    for library in (flambeau, torch):
        file = handmade(opcodes)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("archive/version", "3\n")
        file.seek(0)
        with library.serialization.safe_globals([(dict, f"{module}.thing")]):
            try:
                results.append(library.load(file))
            except pickle.UnpicklingError:
                results.append("refused")
    assert results[0] == results[1]


FORGED = {
    "the state of a dtype": b"\x80\x02ctorch\nfloat32\nN}X\x04\0\0\0nameX\x04\0\0\0evils\x86b.",
    "attributes of a class": b"\x80\x02ctorch\nTensor\n}X\x03\0\0\0addK\x01sb.",
    "a tensor of any size": b"\x80\x02ctorch\nTensor\n(M\xff\xffM\xff\xffM\xff\xfftR.",
    "a storage of any size": b"\x80\x02ctorch\nFloatStorage\n\x8a\x05\0\0\0\0\x01\x85R.",
    "bytes of any size": b"\x80\x02c__builtin__\nbytearray\n\x8a\x06\0\0\0\0\0\x01\x85R.",
    "bytes of a large claim": b"\x80\x05\x96\0\0\0\0\0\x01\0\0a.",
    "text of a large claim": b"\x80\x04\x8d\0\0\0\0\0\x01\0\0a.",
    "another codec": b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX\x05\0\0\0rot13\x86R.",
    "memory of a tensor": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n"
                          b"_rebuild_meta_tensor_no_storage\nctorch\nTensor\n(ctorch\nfloat32\n))\x89t}}"
                          b"X\x02\0\0\0_aK\x01s\x86tR.",
    "a type that is none": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\nset\nctorch\nTensor\n)}tR.",
    "an instruction of Python 2": b"\x80\x02(cposix\nsystem\nX\x04\0\0\0trueo.",
    "another instruction": b"(S'true'\niposix\nsystem\n.",
    "an odd record": b"\x80\x02K\x01Q.",
    "a storage of nothing": b"\x80\x02(X\x07\0\0\0storagec__builtin__\nset\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ.",
}


@pytest.mark.parametrize("opcodes", FORGED.values(), ids=FORGED)
def test_forged_pickles(opcodes):
    with pytest.raises(pickle.UnpicklingError):
        flambeau.load(handmade(opcodes, _0=b"abcd"))
    assert flambeau.float32.name == "float32" and callable(flambeau.Tensor.add)


@pytest.mark.parametrize("maker", [b"c__builtin__\nset\n", b"ccollections\nCounter\n", b"c__builtin__\nfrozenset\n"])
def test_copies_of_copies(maker):
    """One list, and a thousand sets of it: the file is small, what it makes is not."""
    items = b"](" + b"".join(b"M" + struct.pack("<H", n) for n in range(5000)) + b"eq\1"
    opcodes = b"\x80\x02](" + items + (maker + b"h\1\x85R") * 1000 + b"e."
    with pytest.raises(pickle.UnpicklingError, match="copies more than it contains"):
        flambeau.load(handmade(opcodes))


@pytest.mark.parametrize("opcodes", [b"", b"\x80\x02", b"\x80\x02b.", b"\x80\x02K\x01R.", b"\x80\x02\xff.", b"\x80\x02Ne."])
def test_broken_pickles(opcodes):
    for weights_only in (True, False):
        with pytest.raises(pickle.UnpicklingError):
            flambeau.load(handmade(opcodes), weights_only=weights_only)


# ---- the environment

FORCED = [
    ({}, {True: False, False: True, None: False}),
    ({"ON": "1"}, {True: False, False: False, None: False}),
    ({"ON": "yes"}, {False: False}), ({"ON": "TRUE"}, {False: False}), ({"ON": "0"}, {False: True}),
    ({"OFF": "1"}, {True: False, False: True, None: True}),
    ({"OFF": "on"}, {None: False}), ({"OFF": "y"}, {None: True}),
]


class Whole:
    pass


@pytest.mark.parametrize("environment, loads", FORCED, ids=str)
def test_the_environment_decides(monkeypatch, environment, loads):
    for name, value in environment.items():
        variable = {"ON": "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "OFF": "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"}[name]
        monkeypatch.setenv(variable, value)
    for weights_only, succeeds in loads.items():
        try:
            result = isinstance(flambeau.load(saved(Whole()), weights_only=weights_only), Whole)
        except pickle.UnpicklingError:
            result = False
        assert result == succeeds, weights_only


def test_the_environment_contradicts_itself(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match=r"Only one of .* should be set, but both were set"):
        flambeau.load(saved(1))


# ---- damaged archives


@pytest.fixture(scope="module")
def small():
    x = flambeau.arange(4.0)
    x.note = b"ab"
    return saved({"x": x, "p": nn.Parameter(flambeau.ones(2)), "s": {1, "a"}, "l": [1.5, x.shape]}).getvalue()


def attempt(data, **kwargs):
    """None, or the exception of a load; only three kinds are let through."""
    try:
        flambeau.load(io.BytesIO(data), **kwargs)
    except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
        return error
    return None


JUNK = {  # what is no checkpoint at all -> the exception of both libraries
    "nothing": (b"", EOFError),
    "a page": (b"<html><body>404</body></html>", pickle.UnpicklingError),
    "zeros": (bytes(100), pickle.UnpicklingError),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(30), pickle.UnpicklingError),
    "the beginning of an archive": (b"PK\3\4" + bytes(range(200)), RuntimeError),
    "another number": (pickle.dumps(3, 2), RuntimeError),
    "a pickle": (pickle.dumps([1, 2], 4), pickle.UnpicklingError),
    "a pickle that calls": (pickle.dumps(os.getcwd, 4), pickle.UnpicklingError),
}


@pytest.mark.parametrize("data, error", JUNK.values(), ids=JUNK)
def test_junk(data, error):
    assert type(attempt(data)) is error


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("data, error", JUNK.values(), ids=JUNK)
def test_junk_as_in_pytorch(data, error):
    torch = pytest.importorskip("torch")
    with pytest.raises(error):
        torch.load(io.BytesIO(data))


def test_cut_off_files(small):
    errors = [attempt(small[:n]) for n in range(len(small))]
    assert [type(e) for e in errors[:4]] == [EOFError] + 3 * [pickle.UnpicklingError]
    assert all(type(e) is RuntimeError and "PytorchStreamReader failed" in str(e) for e in errors[4:])


@pytest.mark.parametrize("weights_only", [True, False])
def test_every_bit_of_an_archive(small, weights_only):
    """A flipped bit is told in words, or does not matter."""
    for i in range(0, len(small)):
        damaged = bytearray(small)
        damaged[i] ^= 1 << i % 8
        attempt(bytes(damaged), weights_only=weights_only)


def test_every_bit_of_a_pickle(small):
    """Without the checksum the unpickler meets the damage."""
    with zipfile.ZipFile(io.BytesIO(small)) as archive:
        pickled = archive.read("archive/data.pkl")
    unchecked = small.replace(struct.pack("<I", zlib.crc32(pickled)), bytes(4))
    assert attempt(unchecked) is None
    start = unchecked.index(pickled)
    for i in range(start, start + len(pickled)):
        for bit in range(8):
            damaged = bytearray(unchecked)
            damaged[i] ^= 1 << bit
            attempt(bytes(damaged))


def test_damaged_elements_are_found():
    data = bytearray(saved(flambeau.ones(100)).getvalue())
    data[data.index(flambeau.ones(100).numpy().tobytes())] ^= 1
    with pytest.raises(RuntimeError, match="reading file data/0: the checksum is wrong"):
        flambeau.load(io.BytesIO(data))


NOT_CHECKPOINTS = {
    "text": (b"garbage", pickle.UnpicklingError), "zeros": (bytes(100), pickle.UnpicklingError),
    "nothing": (b"", EOFError), "the beginning": (b"PK\3\4", RuntimeError), "an empty zip": (b"PK\5\6" + bytes(18),
                                                                                        pickle.UnpicklingError),
}


@pytest.mark.parametrize("data, error", NOT_CHECKPOINTS.values(), ids=NOT_CHECKPOINTS)
def test_what_is_no_checkpoint(data, error):
    with pytest.raises(error):
        flambeau.load(io.BytesIO(data))


@pytest.mark.oracle
@pytest.mark.parametrize("data, error", NOT_CHECKPOINTS.values(), ids=NOT_CHECKPOINTS)
def test_what_is_no_checkpoint_as_torch(data, error):
    torch = pytest.importorskip("torch")
    with pytest.raises(error):
        torch.load(io.BytesIO(data))


# ---- archives that claim too much


def archive_of(entries, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    """Two megabytes that would unpack to two gigabytes, in a process that may not have one."""
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N.")
        with archive.open("archive/data/0", "w", force_zip64=True) as entry:
            for _ in range(64):
                entry.write(bytes(1 << 25))
    assert path.stat().st_size < 3 << 20
    script = (
        "import flambeau, resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "try:\n    flambeau.load('bomb.pt')\nexcept RuntimeError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "is compressed" in done.stdout


def test_entries_that_overlap():
    """Many entries of the directory that all mean the same bytes."""
    data = archive_of({"archive/data.pkl": b"\x80\x02N.", "archive/data/0": bytes(10000)})
    start, = struct.unpack("<I", data[-6:-2])
    entry_start = data.index(b"PK\1\2", start + 4)
    entry = data[entry_start: -22]
    directory = data[start: -22] + b"".join(entry[:-1] + bytes([48 + n]) for n in range(1, 10))
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 11, 11, len(directory), start, 0)
    with pytest.raises(RuntimeError, match="the entries claim"):
        flambeau.load(io.BytesIO(data[:start] + directory + end))


RECORD = b"\x80\x02(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu%stQ."


@pytest.mark.parametrize("count, data, message", [
    (b"K\x04", bytes(8), r"record size \(8 bytes\) does not match expected size \(16 bytes"),
    (b"K\x04", bytes(20), "record size"), (b"\x8a\x06\0\0\0\0\0\x01", bytes(16), "record size"),
    (b"J\xff\xff\xff\xff", bytes(4), "record size"), (b"K\x04", None, "locating file data/0: file not found"),
], ids=["short", "long", "huge", "negative", "missing"])
def test_records_of_the_wrong_size(count, data, message):
    with pytest.raises(RuntimeError, match=message):
        flambeau.load(handmade(RECORD % count, **({} if data is None else {"_0": data})))


@pytest.mark.parametrize("place", [
    b"K\0K\x40\x85K\1\x85", b"K\1K\4\x85K\1\x85", b"K\0K\4\x85K\2\x85", b"J\xff\xff\xff\xffK\1\x85K\1\x85",
    b"K\0K\4\x85J\xff\xff\xff\xff\x85", b"K\0\x8a\x08\0\0\0\0\0\0\0\x40\x85K\1\x85", b"K\0J\xff\xff\xff\xff\x85K\1\x85",
], ids=["longer", "shifted", "wider", "before", "backwards", "huge", "negative"])
def test_tensors_beyond_their_storage(place):
    opcodes = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + (RECORD % b"K\4")[2:-1] + place + b"\x89NtR."
    with pytest.raises(RuntimeError, match="out of bounds for storage of 4 elements"):
        flambeau.load(handmade(opcodes, _0=bytes(16)))


def test_an_unknown_byte_order():
    file = archive_of({"archive/data.pkl": b"\x80\x02N.", "archive/byteorder": b"middle"})
    with pytest.raises(RuntimeError, match="byte order is b'middle'"):
        flambeau.load(io.BytesIO(file))
