"""Models as files that run without their source."""

import io
import json
import subprocess
import sys
import textwrap
import zipfile

import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax

BATCH = {0: torch.export.Dim("batch")}


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="export needs jax")


class Decoder(nn.Module):
    """Nested arguments and results, numbers among them, a tied weight, a constant of the size of the input."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, tokens, options, *, shift=None):
        x = self.embed(tokens["ids"]) * self.scale * options[0]
        x = x + torch.arange(x.shape[0]).reshape(-1, 1, 1) + torch.zeros_like(x)
        return {"logits": self.head(x), "parts": [x.flatten(1), None, 3], "shift": x + shift}


class Centered(nn.Module):
    def forward(self, x):
        return x - x.mean(0) + x.shape[0]


MODELS = {
    "convolutions": lambda: (nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(16, 2)), (torch.randn(2, 3, 6, 6),)),
    "sizes as numbers": lambda: (nn.Sequential(Centered()), (torch.randn(3, 4),)),
    "transformer": lambda: (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (torch.randn(2, 5, 4),)),
    "lstm": lambda: (nn.LSTM(3, 4, batch_first=True, bidirectional=True), (torch.randn(2, 5, 3),)),
}


def build(name):
    torch.manual_seed(0)
    model, args = MODELS[name]()
    return model.eval(), args


def reload(program):
    stream = io.BytesIO()
    program.save(stream)
    stream.seek(0)
    return torch.export.load(stream)


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_program_matches_the_model_at_every_batch_size(name):
    model, args = build(name)
    program = reload(torch.export(model, args, dynamic_shapes=[BATCH]))
    for size in (1, 2, 5):
        x = torch.cat([args[0]] * 3)[:size] * 1.5
        with torch.no_grad():
            close(program(x), model(x))


def test_nested_arguments_and_results():
    model = Decoder().eval()
    ids, shift = torch.tensor([[1, 2], [3, 4]]), torch.ones(4)
    program = reload(torch.export.export(model, ({"ids": ids}, [0.5, "x", None]), {"shift": shift}))
    with torch.no_grad():
        want = model({"ids": ids}, [0.5, "x", None], shift=shift)
    got = program({"ids": ids}, [0.5, "x", None], shift=shift)
    assert list(got) == ["logits", "parts", "shift"] and got["parts"][1:] == [None, 3]
    close(got["logits"], want["logits"])
    close(got["parts"][0], want["parts"][0])
    assert sorted(program.state_dict) == ["embed.weight", "scale"]  # the tied weight is there once
    with pytest.raises(TypeError, match="nested as"):
        program({"ids": ids}, [0.25, "x", None], shift=shift)


def test_two_dimensions_with_bounds():
    rows, columns = torch.export.Dim("rows", min=2, max=6), torch.export.Dim("columns")
    program = reload(torch.export(lambda x, y: (x @ y).relu() + x.shape[0], (torch.randn(3, 4), torch.randn(4, 2)),
                                  dynamic_shapes=({0: rows}, {1: columns})))
    x, y = torch.randn(5, 4), torch.randn(4, 7)
    close(program(x, y), (x @ y).relu() + 5)
    for args, error in [
        ((torch.ones(7, 4), y), "rows must be between 2 and 6, but got 7"),
        ((torch.ones(5, 3), y), r"input 0 of .* must have shape \['rows', 4\], but got \[5, 3\]"),
        ((x.double(), y), None), ((x,), None), ((x, y.to("xla")), None),
    ]:
        with pytest.raises((ValueError, TypeError, RuntimeError), match=error):
            program(*args)


@pytest.mark.parametrize("other", [BATCH, {0: torch.export.Dim("batch")}], ids=["one Dim", "two of a name"])
def test_one_dimension_has_one_size(other):
    program = torch.export(lambda x, y: x + y, (torch.ones(2), torch.ones(2)), dynamic_shapes=(BATCH, other))
    assert program(torch.ones(3), torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="batch has size 3 in one input and 4 in another"):
        program(torch.ones(3), torch.ones(4))


def test_one_name_has_one_range():
    with pytest.raises(ValueError, match="Found different definitions"):
        torch.export(torch.add, (torch.ones(2), torch.ones(2)),
                     dynamic_shapes=(BATCH, {0: torch.export.Dim("batch", max=9)}))


def test_on_a_device():
    model, (x,) = build("convolutions")
    program = torch.export(model.to("xla"), x.to("xla"), dynamic_shapes=[BATCH])
    with torch.no_grad():
        close(program(x.to("xla")[:1]), model(x.to("xla")[:1]))
    assert program(x.to("xla")).device.type == "xla"


def test_for_other_platforms():
    model, (x,) = build("convolutions")
    program = reload(torch.export(model, x, platforms=["cuda", "tpu"]))
    assert program.platforms == ("cuda", "tpu")
    with pytest.raises(ValueError, match="was exported for cuda, tpu, and cannot run on cpu"):
        program(x)


def test_numbers_drawn_by_a_device_cannot_be_exported():
    with pytest.raises(RuntimeError, match="draws random numbers"):
        torch.export(nn.Dropout(0.5).train(), torch.ones(4, 3, device="xla"))


@pytest.mark.parametrize("model, error", [
    (nn.BatchNorm1d(3).train(), "writes to a tensor that is not its own"),
    (nn.Dropout(0.5).train(), "draws random numbers"),
    (lambda x: x if x.sum() > 0 else -x, "needs the elements of a tensor"),
    (lambda x: {1: x}, "strings as keys"),
    (lambda x: x * 2 if x.shape[0] > 100 else x, "decided something by the size"),
    (3, "expects a module or a function"),
], ids=["buffers", "random numbers", "elements", "keys", "size", "no function"])
def test_what_cannot_be_exported(model, error):
    with pytest.raises((RuntimeError, TypeError), match=error):
        torch.export(model, torch.randn(4, 3), dynamic_shapes=[BATCH])


@pytest.mark.parametrize("dynamic_shapes, error", [
    ([BATCH, BATCH], "is for 2 inputs, but there are 1"), ({"y": BATCH}, "names 'y'"), ([{5: BATCH[0]}], "dimension 5"),
    ([{0: 3}], "expected a Dim"),
])
def test_wrong_dynamic_shapes(dynamic_shapes, error):
    with pytest.raises(ValueError, match=error):
        torch.export(nn.ReLU(), torch.ones(2, 3), dynamic_shapes=dynamic_shapes)


def damaged(change):
    stream = io.BytesIO()
    torch.export(nn.Linear(2, 2), torch.ones(1, 2)).save(stream)
    members = {name: zipfile.ZipFile(stream).read(name) for name in zipfile.ZipFile(stream).namelist()}
    change(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def edit(**changes):
    def change(members):
        members["program.json"] = json.dumps({**json.loads(members["program.json"]), **changes})

    return change


@pytest.mark.parametrize("make", [
    lambda: b"", lambda: b"\x80\x04cposix\nsystem\n(S'false'\ntR.", lambda: damaged(lambda m: m.pop("program.bin")),
    lambda: damaged(lambda m: m.pop("program.json")), lambda: damaged(edit(version=99)), lambda: damaged(edit(format=0)),
    lambda: damaged(lambda m: m.update({"state.safetensors": b"\0" * 9})), lambda: damaged(edit(state=["other"])),
    lambda: damaged(lambda m: m.update({"program.json": b"[1]"})), lambda: damaged(edit(dtypes=["nothing"])),
])
def test_a_file_that_is_none(make):
    with pytest.raises(ValueError, match="is not an exported program"):
        torch.export.load(io.BytesIO(make()))


def test_a_file_keeps_its_mode_and_nothing_stays_beside_it(tmp_path):
    program, file = torch.export(nn.ReLU(), torch.ones(2)), tmp_path / "model.zip"
    program.save(file)
    before = file.read_bytes()
    file.chmod(0o640)
    program.save(file)
    assert file.stat().st_mode & 0o777 == 0o640 and len(file.read_bytes()) == len(before)
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        program.save(tmp_path / "nowhere" / "model.zip")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.zip"]


def test_a_process_without_the_source(tmp_path):
    file = tmp_path / "model.zip"
    model = Decoder().eval()
    torch.export(model, ({"ids": torch.tensor([[1, 2]])}, [0.5]), {"shift": torch.ones(4)}).save(file)
    script = f"""
        import flambeau as torch
        program = torch.export.load({str(file)!r})
        out = program({{"ids": torch.tensor([[3, 4]])}}, [0.5], shift=torch.ones(4))
        print(out["logits"].sum().item(), "Decoder" in repr(program), program.versions["flambeau"] == torch.__version__)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    total, named, versions = done.stdout.split()
    want = model({"ids": torch.tensor([[3, 4]])}, [0.5], shift=torch.ones(4))["logits"].sum().item()
    assert float(total) == pytest.approx(want, rel=1e-4) and named == versions == "True"


def test_names_of_torch():
    model, (x,) = build("transformer")
    program = torch.export.export(model, (x,), dynamic_shapes={"src": {0: torch.export.Dim.DYNAMIC, 1: None}}, strict=True)
    assert isinstance(program, torch.export.ExportedProgram)
    stream = io.BytesIO()
    torch.export.save(program, stream)
    stream.seek(0)
    with torch.no_grad():
        close(torch.export.load(stream).module()(x[:1]), model(x[:1]))
