"""Training checkpoints are exchanged between the libraries, and training resumes exactly.

Files that PyTorch wrote are in data/checkpoints, in both of its formats, so that this also runs where it is not
installed:

    python tests/test_checkpoint_files.py     # writes them anew, needs torch
"""

import io
import pathlib
import pickle
import subprocess
import sys
import textwrap
from unittest import mock

import pytest

import flambeau

DATA = pathlib.Path(__file__).parent / "data" / "checkpoints"

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "Adam": {"lr": 0.05, "amsgrad": True}, "AdamW": {"lr": 0.05}, "Adamax": {},
    "NAdam": {}, "RAdam": {}, "RMSprop": {"centered": True, "momentum": 0.5}, "Rprop": {}, "Adagrad": {}, "Adadelta": {}, "Adafactor": {},
    "ASGD": {"t0": 2}, "LBFGS": {"lr": 0.5, "max_iter": 3, "history_size": 4},
}


class Run:
    """A model, an optimizer and a scheduler; the numbers are the same in both libraries."""

    def __init__(self, t, name):
        nn = t.nn
        self.x = (t.arange(48.0).view(12, 4) % 7) / 7
        self.y = (self.x[:, :2].prod(1, keepdim=True) - self.x[:, 2:].sum(1, keepdim=True)).detach()
        self.model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 1))
        with t.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_((t.arange(float(parameter.numel())).view(parameter.shape) * 5 % 11 - 5) / 10)
        self.optimizer = getattr(t.optim, name)(self.model.parameters(), **OPTIMIZERS[name])
        self.scheduler = t.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.5)

    def loss(self):
        self.optimizer.zero_grad()
        loss = (self.model(self.x) - self.y).pow(2).mean()
        loss.backward()
        return loss

    def train(self, steps):
        losses = []
        for _ in range(steps):
            losses.append(self.optimizer.step(self.loss).item())
            self.scheduler.step()
        return losses

    def state(self):
        return {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}

    def resume(self, state):
        for name, part in state.items():
            getattr(self, name).load_state_dict(part)


def saved(library, value, **options):
    file = io.BytesIO()
    library.save(value, file, **options)
    file.seek(0)
    return file


def zipped(library, value):
    return saved(library, value)


def legacy(library, value):
    return saved(library, value, _use_new_zipfile_serialization=False)


# ---- training continues


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("format", ["zip", "legacy"])
def test_runs_of_torch_continue(format, name):
    recorded = flambeau.load(DATA / f"runs_{format}.pt")[name]
    run = Run(flambeau, name)
    run.resume(recorded["state"])
    assert run.train(5) == pytest.approx(recorded["losses"], rel=2e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("write", [zipped, legacy])
def test_from_torch_to_us(write, name):
    torch = pytest.importorskip("torch")
    theirs, ours = Run(torch, name), Run(flambeau, name)
    theirs.train(4)
    ours.resume(flambeau.load(write(torch, theirs.state())))
    assert ours.train(5) == pytest.approx(theirs.train(5), rel=2e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_from_us_to_torch(name):
    torch = pytest.importorskip("torch")
    theirs, ours = Run(torch, name), Run(flambeau, name)
    ours.train(4)
    theirs.resume(torch.load(zipped(flambeau, ours.state())))
    assert theirs.train(5) == pytest.approx(ours.train(5), rel=2e-4)


# ---- whole objects, which know their classes by PyTorch's names

WHOLE = """
    import sys, torch
    found = torch.load(sys.argv[1], weights_only=False)
    model, optimizer = found["model"], found["optimizer"]
    print(type(model).__module__, type(optimizer).__module__, optimizer.param_groups[0]["params"][0] is model[0].weight)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(found["x"]).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(round(loss.item(), 5))
"""


def whole(t):
    run = Run(t, "Adam")
    run.train(3)
    return {"model": run.model, "optimizer": run.optimizer, "x": run.x}


def printed(path, prelude=""):
    done = subprocess.run([sys.executable, "-c", prelude + textwrap.dedent(WHOLE), path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("format", ["zip", "legacy"])
def test_whole_modules_and_optimizers_of_torch(format):
    """A class is found where it says, which is in torch: that name must be ours."""
    path = DATA / f"whole_{format}.pt"
    losses = flambeau.load(DATA / "runs_zip.pt")["whole"]
    prelude = "import flambeau; flambeau.alias.install()\n"
    assert printed(path, prelude) == ["torch.nn.modules.container torch.optim.adam True", *losses]
    with pytest.raises(pickle.UnpicklingError, match=r"refers to torch\.nn\.modules\.container\.Sequential"):
        flambeau.load(path)


# ---- the old format


def things(t):
    base = t.arange(6.0).view(2, 3)
    return {
        "matrix": base, "row": base[1], "transposed": base.t(), "scalar": t.tensor(3), "empty": t.empty(0, 3), "bool": t.tensor([True, False]),
        "half": t.ones(2, dtype=t.float16), "bf16": t.ones(2, dtype=t.bfloat16), "complex": t.tensor([1 + 2j]), "int8": t.tensor([1, -1], dtype=t.int8),
        "parameter": t.nn.Parameter(t.ones(2)), "trained": t.ones(2, requires_grad=True), "number": 2**70, "text": "\u00e9", "bytes": b"\0\xff",
        "conjugate": t.tensor([1 + 2j]).conj(), "sparse": t.eye(2).to_sparse(), "dtype": t.float64, "size": base.shape, "set": {1, "a"},
    }


def shown(found):
    return {name: (x.to_dense() if name == "sparse" else x).tolist() if hasattr(x, "tolist") else str(x) for name, x in found.items()}


def test_an_old_file():
    found = flambeau.load(DATA / "things_legacy.pt")
    assert shown(found) == shown(things(flambeau))
    assert type(found["parameter"]) is flambeau.nn.Parameter and found["trained"].requires_grad
    found["matrix"][1, 0] = 99
    assert (found["row"][0].item(), found["transposed"][0, 1].item()) == (99, 99)


@pytest.mark.oracle
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_old_files_of_torch(protocol):
    torch = pytest.importorskip("torch")
    file = saved(torch, things(torch), _use_new_zipfile_serialization=False, pickle_protocol=protocol)
    for weights_only in (True, False):
        file.seek(0)
        assert shown(flambeau.load(file, weights_only=weights_only)) == shown(things(flambeau))


def test_one_old_file_after_the_other():
    data = (DATA / "things_legacy.pt").read_bytes()
    file = io.BytesIO(data + data)
    for _ in range(2):
        assert flambeau.load(file)["row"].tolist() == [3, 4, 5]
    with pytest.raises(EOFError):
        flambeau.load(file)


@pytest.mark.oracle
def test_dtypes_that_torch_cannot_read_back():
    torch = pytest.importorskip("torch")
    assert flambeau.load(legacy(torch, torch.arange(3).to(torch.uint16))).tolist() == [0, 1, 2]


def test_old_files_elsewhere():
    path = DATA / "things_legacy.pt"
    assert flambeau.load(DATA / "runs_legacy.pt", map_location="meta")["Adam"]["state"]["model"]["0.weight"].is_meta
    assert flambeau.load(path, map_location=lambda storage, location: storage.clone())["row"].tolist() == [3, 4, 5]
    file = io.BytesIO(b"before" + path.read_bytes())
    file.seek(6)
    assert flambeau.load(file)["row"].tolist() == [3, 4, 5]
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        flambeau.load(path, mmap=True)


def handmade(obj, keys, elements, version=1001, little_endian=True):
    """An old file, byte by byte; `obj` is a pickle."""
    head = [0x1950A86A20F9469CFC6C, version, {"protocol_version": version, "little_endian": little_endian, "type_sizes": {}}]
    return io.BytesIO(b"".join(pickle.dumps(part, 2) for part in head) + obj + pickle.dumps(keys, 2) + elements)


def storage(kind=b"FloatStorage", key=b"k", count=b"K\x04", view=b"N"):
    """The opcodes of the record of a storage."""
    return b"(U\x07storagectorch\n" + kind + b"\nU" + bytes([len(key)]) + key + b"U\x03cpu" + count + view + b"tQ"


def tensor(record, count=b"K\x04"):
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + record + b"K\0" + count + b"\x85K\x01\x85\x89NtR."


ELEMENTS = (4).to_bytes(8, "little") + flambeau.arange(4.0).numpy().tobytes()


def test_the_other_byte_order():
    elements = (4).to_bytes(8, "little") + flambeau.arange(4.0).numpy().byteswap().tobytes()
    assert flambeau.load(handmade(tensor(storage()), ["k"], elements, little_endian=False)).tolist() == [0, 1, 2, 3]


def views(count=b"K\x02"):
    return tensor(storage(view=b"(U\x01vK\x01" + count + b"t"), b"K\x02")


def test_views_of_storages():
    """As files of long ago have them."""
    assert flambeau.load(handmade(views(), ["k"], ELEMENTS)).tolist() == [1, 2]


@pytest.mark.oracle
def test_torch_reads_the_same_from_what_is_handmade():
    torch = pytest.importorskip("torch")
    assert torch.load(handmade(tensor(storage()), ["k"], ELEMENTS)).tolist() == [0, 1, 2, 3]
    assert torch.load(handmade(views(), ["k"], ELEMENTS)).tolist() == [1, 2]


WRONG = {
    "another version": (handmade(tensor(storage()), ["k"], ELEMENTS, version=1000), "Invalid protocol version: 1000"),
    "no elements": (handmade(tensor(storage()), ["k"], b""), "damaged or cut off"),
    "too few elements": (handmade(tensor(storage()), ["k"], ELEMENTS[:-1]), "damaged or cut off"),
    "another count": (handmade(tensor(storage()), ["k"], b"\5" + ELEMENTS[1:] + bytes(4)), "has 5 elements, 4 were expected"),
    "a large claim": (handmade(tensor(storage(count=b"\x8a\x06\0\0\0\0\0\x01")), ["k"], b"\0\0\0\0\0\x01\0\0" + bytes(16)), "damaged or cut off"),
    "a negative count": (handmade(tensor(storage(count=b"J\xff\xff\xff\xff")), ["k"], b"\xff" * 8 + bytes(16)), "damaged or cut off"),
    "storages that are not listed": (handmade(tensor(storage()), [], ELEMENTS), "name different storages"),
    "storages that nobody has": (handmade(b"\x80\x02K\x01.", ["k"], ELEMENTS), "name different storages"),
    "a storage of two dtypes": (handmade(b"\x80\x02" + storage() + storage(b"LongStorage") + b"\x86.", ["k"], ELEMENTS), "damaged"),
    "no list": (handmade(tensor(storage()), 5, ELEMENTS), "damaged"),
    "a view beyond its storage": (handmade(views(b"K\x04"), ["k"], ELEMENTS), "beyond its storage"),
    "a call": (handmade(b"\x80\x02cposix\nsystem\nU\x04true\x85R.", [], b""), "posix is blocked"),
    "a call before the elements are found": (handmade(b"\x80\x02cposix\nsystem\nU\x04true\x85R.", ["k"], ELEMENTS), "name different storages"),
    "an instruction of Python 2": (handmade(b"\x80\x02(S'true'\niposix\nsystem\n.", [], b""), "damaged"),
    "a module": (handmade(b"\x80\x02(U\x06modulec__builtin__\nset\nNNtQ.", [], b""), "unknown kind of record"),
}


@pytest.mark.parametrize("file, message", WRONG.values(), ids=WRONG)
def test_wrong_files(file, message):
    file.seek(0)
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=message):
        flambeau.load(file)


def record(torch):
    """Writes the files anew."""
    DATA.mkdir(exist_ok=True)
    runs = {}
    for name in OPTIMIZERS:
        run = Run(torch, name)
        run.train(4)
        state = torch.load(zipped(torch, run.state()))
        runs[name] = {"state": state, "losses": run.train(5)}
    for format, is_zip in {"zip": True, "legacy": False}.items():
        # The old format carries the source of each class, which does not belong here: PyTorch leaves out what it lacks.
        with mock.patch("torch.serialization.get_source_lines_and_file", side_effect=OSError):
            torch.save(whole(torch), DATA / f"whole_{format}.pt", _use_new_zipfile_serialization=is_zip)
    runs["whole"] = printed(DATA / "whole_zip.pt")[1:]
    for format, is_zip in {"zip": True, "legacy": False}.items():
        torch.save(runs, DATA / f"runs_{format}.pt", _use_new_zipfile_serialization=is_zip)
    torch.save(things(torch), DATA / "things_legacy.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    import torch

    record(torch)
