"""TensorBoard logs: the events in the files, compared with PyTorch's."""

import io
import os
import pathlib
import re

import numpy as np
import pytest

import flambeau
from flambeau import nn

pytestmark = pytest.mark.tensorboard


def writer(library=flambeau):
    if library is flambeau:
        from flambeau.utils import tensorboard
    else:
        from torch.utils import tensorboard
    return tensorboard.SummaryWriter


def events(folder):
    """[(folder, event)] of all files in a folder, without times."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    found = []
    for path in sorted(pathlib.Path(folder).rglob("*tfevents*")):
        for data in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(data)
            event.wall_time = 0
            found.append((path.parent.relative_to(folder).as_posix(), event))
    return found


def values(folder):
    """[(step, record)] of all that was logged."""
    return [(event.step, value) for _, event in events(folder) for value in event.summary.value]


def logged(folder, method, *args, **kwargs):
    """The one record that a call leaves."""
    with writer()(folder) as log:
        getattr(log, method)(*args, **kwargs)
    (_, value), = values(folder)
    return value


def picture(value):
    from PIL import Image

    return np.array(Image.open(io.BytesIO(value.image.encoded_image_string)))


def array(value):
    from tensorboard.util.tensor_util import make_ndarray

    return make_ndarray(value.tensor)


# ---- the files


def test_scalars_are_read_back(tmp_path):
    with writer()(tmp_path) as log:
        for step in range(3):
            log.add_scalar("loss/train", flambeau.tensor(step / 2), step)
    assert [(step, value.tag, value.simple_value) for step, value in values(tmp_path)] == [
        (0, "loss/train", 0), (1, "loss/train", 0.5), (2, "loss/train", 1)
    ]


def test_tensorboard_reads_the_run(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with writer()(tmp_path) as log:
        log.add_scalar("loss", 0.5, 7, walltime=12.0)
        log.add_histogram("weights", flambeau.arange(4.0), 7)
        log.add_image("picture", flambeau.ones(3, 2, 2), 7)
        log.add_graph(nn.Linear(2, 2), flambeau.ones(1, 2))
    run = EventAccumulator(str(tmp_path)).Reload()
    tags = run.Tags()
    assert (tags["scalars"], tags["histograms"], tags["images"], tags["graph"]) == (["loss"], ["weights"], ["picture"], True)
    loss, = run.Scalars("loss")
    assert (loss.step, loss.value, loss.wall_time) == (7, 0.5, 12.0)


def test_the_folder_has_the_time_the_host_and_the_comment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with writer()(comment="_first") as log:
        assert re.fullmatch(r"runs/\w{3}\d\d_\d\d-\d\d-\d\d_.+_first", log.get_logdir())
        assert os.listdir(log.get_logdir())


def test_flush_close_and_more(tmp_path):
    log = writer()(tmp_path, filename_suffix=".mine")
    log.add_scalar("a", 1)
    log.add_scalars("b", {"x": 1, "y": 2})
    log.flush()
    assert len(values(tmp_path)) == 3
    log.close()
    log.close()
    log.add_scalar("a", 2)  # opens a new file
    log.close()
    names = [path.name for path in tmp_path.rglob("*tfevents*")]
    assert len(names) == 4 and all(name.endswith(".mine") for name in names)
    assert len(values(tmp_path)) == 4


def test_purge_step_hides_earlier_events(tmp_path):
    writer()(tmp_path, purge_step=5).close()
    assert [(event.step, event.session_log.status) for _, event in events(tmp_path)] == [(0, 0), (5, 0), (5, 1)]


# ---- pictures, sounds, graphs


def test_a_video_is_an_animation(tmp_path):
    from PIL import Image

    value = logged(tmp_path, "add_video", "v", flambeau.rand(3, 5, 3, 4, 6), fps=10)
    movie = Image.open(io.BytesIO(value.image.encoded_image_string))
    assert (movie.format, movie.n_frames, movie.size, movie.info["duration"]) == ("GIF", 5, (12, 8), 100)


def test_boxes_are_drawn(tmp_path):
    boxes = flambeau.tensor([[2, 2, 10, 12]])
    value = logged(tmp_path, "add_image_with_boxes", "b", flambeau.zeros(3, 20, 20), boxes, rescale=2, labels="x")
    image = picture(value)
    assert image.shape == (40, 40, 3) and (value.image.height, value.image.width) == (40, 40)
    red = image[..., 0] > 128
    assert red[4, 4] and red[4, 18] and not red[30:].any() and not image[..., 1:].any()


def test_a_figure_is_drawn_and_closed(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figures = [pyplot.figure(figsize=(1, 2), dpi=50) for _ in range(2)]
    with writer()(tmp_path) as log:
        log.add_figure("one", figures[0], close=False)
        assert pyplot.get_fignums() == [1, 2]
        log.add_figure("two", figures)
    assert pyplot.get_fignums() == []
    assert [picture(value).shape for _, value in values(tmp_path)] == [(100, 50, 3), (100, 100, 3)]


def test_loud_sounds_are_clipped(tmp_path):
    with pytest.warns(UserWarning, match="amplitude out of range"):
        value = logged(tmp_path, "add_audio", "a", flambeau.tensor([0.0, 2.0, -2.0, 0.5]), sample_rate=8000)
    samples = np.frombuffer(value.audio.encoded_audio_string[44:], "<i2").tolist()
    assert samples == [0, 32767, -32767, 16383]
    assert (value.audio.sample_rate, value.audio.length_frames) == (8000, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        self.scale = nn.Parameter(flambeau.ones(3))

    def forward(self, x):
        return flambeau.relu(self.body(x) * self.scale + x.sum())


class Deciding(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def test_the_graph_of_a_model(tmp_path):
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    with writer()(tmp_path) as log:
        log.add_graph(Net(), flambeau.ones(5, 2))
    graph, = [GraphDef.FromString(event.graph_def) for _, event in events(tmp_path) if event.graph_def]
    nodes = {node.name: (node.op, list(node.input)) for node in graph.node}
    layer = "Net/Sequential[body]/Linear[0]"
    assert nodes["input/x"] == ("IO Node", [])
    assert nodes[f"{layer}/body_0"] == ("Linear", ["input/x", f"{layer}/weight", f"{layer}/bias"])
    assert nodes["Net/Sequential[body]/ReLU[1]/body_1"] == ("ReLU", [f"{layer}/body_0"])
    assert nodes["Net/mul"] == ("mul", ["Net/Sequential[body]/ReLU[1]/body_1", "Net/scale"])
    assert nodes["output/output"] == ("IO Node", ["Net/relu"])
    assert all(name in nodes for _, inputs in nodes.values() for name in inputs)
    shapes = {node.name: [d.size for d in node.attr["_output_shapes"].list.shape[0].dim] for node in graph.node}
    assert (shapes["input/x"], shapes[f"{layer}/body_0"], shapes[f"{layer}/weight"]) == ([5, 2], [5, 3], [3, 2])


def test_what_cannot_be_drawn(tmp_path):
    with writer()(tmp_path) as log:
        with pytest.raises(RuntimeError, match="Deciding cannot be drawn"):
            log.add_graph(Deciding(), flambeau.ones(2))
        with pytest.raises(NotImplementedError, match="no ONNX here"):
            log.add_onnx_graph("file")


def test_an_embedding_that_is_there_already(tmp_path):
    with writer()(tmp_path) as log:
        log.add_embedding(flambeau.ones(2, 2), tag="a/b")
        with pytest.warns(UserWarning, match="did you set global_step"):
            log.add_embedding(flambeau.zeros(2, 2), tag="a/b")
    assert (tmp_path / "00000" / "a%2fb" / "tensors.tsv").read_text() == "0.0\t0.0\n0.0\t0.0\n"


def test_hyperparameters_of_all_kinds(tmp_path):
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    with writer()(tmp_path) as log:
        log.add_hparams({"lr": flambeau.tensor(0.5), "n": np.int64(3), "none": None, "flag": True}, {"loss": flambeau.tensor(1.0)})
    contents = [HParamsPluginData.FromString(value.metadata.plugin_data.content) for _, value in values(tmp_path)]
    start, = [content.session_start_info.hparams for content in contents if content.HasField("session_start_info")]
    assert {name: getattr(value, value.WhichOneof("kind")) for name, value in start.items()} == {"lr": 0.5, "n": 3, "flag": True}


def test_low_precision(tmp_path):
    assert array(logged(tmp_path, "add_tensor", "t", flambeau.ones(2, dtype=flambeau.bfloat16))).tolist() == [1, 1]


# ---- as PyTorch

CALLS = {
    "scalar": lambda t, log: log.add_scalar("a b/c?", t.tensor([1.5]), 3),
    "scalar of a number": lambda t, log: log.add_scalar("n", np.float64(1 / 3)),
    "scalar of text": lambda t, log: log.add_scalar("n", "0.25"),
    "scalar of the new style": lambda t, log: log.add_scalar("n", 1 / 3, 2, new_style=True),
    "scalar of double precision": lambda t, log: log.add_scalar("n", 1 / 3, 2, new_style=True, double_precision=True),
    "scalars": lambda t, log: log.add_scalars("main/x", {"a": 1, "b": t.tensor(2.0)}, 4),
    "tensor": lambda t, log: log.add_tensor("t", t.arange(6.0).view(2, 3), 1),
    "tensor of ints": lambda t, log: log.add_tensor("t", t.arange(3)),
    "tensor of bools": lambda t, log: log.add_tensor("t", t.tensor([True, False])),
    "histogram": lambda t, log: log.add_histogram("h", t.arange(-20.0, 30) / 8, 2),
    "histogram of one value": lambda t, log: log.add_histogram("h", t.zeros(3)),
    "histogram, auto": lambda t, log: log.add_histogram("h", t.arange(20.0).view(4, 5), bins="auto"),
    "histogram, bins": lambda t, log: log.add_histogram("h", np.arange(10), bins=3),
    "histogram, max_bins": lambda t, log: log.add_histogram("h", t.arange(100.0), max_bins=7),
    "histogram_raw": lambda t, log: log.add_histogram_raw("h", 0, 3, 4, 6, 14, [1, 2, 3], [1, 2, 1], 2),
    "image": lambda t, log: log.add_image("i", t.linspace(-0.2, 1.2, 60).view(3, 4, 5), 1),
    "image of bytes": lambda t, log: log.add_image("i", t.arange(60, dtype=t.uint8).view(4, 5, 3), dataformats="HWC"),
    "image without colours": lambda t, log: log.add_image("i", t.linspace(0, 1, 20).view(4, 5), dataformats="HW"),
    "image, transposed": lambda t, log: log.add_image("i", t.linspace(0, 1, 20).view(4, 5), dataformats="WH"),
    "image of one channel": lambda t, log: log.add_image("i", t.linspace(0, 1, 20).view(1, 4, 5)),
    "image of four channels": lambda t, log: log.add_image("i", t.linspace(0, 1, 80).view(4, 4, 5)),
    "images": lambda t, log: log.add_images("i", (t.arange(120) / 128).view(10, 3, 2, 2), 1),
    "images of one channel": lambda t, log: log.add_images("i", t.linspace(0, 1, 24).view(2, 4, 3, 1), dataformats="NHWC"),
    "image with boxes": lambda t, log: log.add_image_with_boxes("b", t.zeros(3, 20, 20), t.tensor([[1, 2, 10, 12]]), 3),
    "audio": lambda t, log: log.add_audio("a", t.linspace(-1, 1, 20).view(1, 20), 1, sample_rate=8000),
    "text": lambda t, log: log.add_text("t", "h\u00e9llo *world*", 3),
    "pr_curve": lambda t, log: log.add_pr_curve("p", t.tensor([0, 1, 1, 0]), t.tensor([0.1, 0.6, 1.0, 0.4]), 1, num_thresholds=5),
    "pr_curve, many thresholds": lambda t, log: log.add_pr_curve("p", t.arange(9) % 2, t.linspace(0, 1, 9), num_thresholds=500),
    "pr_curve, weights": lambda t, log: log.add_pr_curve("p", np.array([0, 1, 1]), np.array([0.1, 0.6, 0.9]), weights=np.array([1, 2, 3])),
    "pr_curve_raw": lambda t, log: log.add_pr_curve_raw("p", [1, 2], [1, 2], [1, 2], [1, 2], [0.1, 0.2], [0.1, 0.2], 0, num_thresholds=2),
    "mesh": lambda t, log: log.add_mesh("m", t.arange(9.0).view(1, 3, 3), t.ones(1, 3, 3, dtype=t.uint8), t.tensor([[[0, 1, 2]]]), {"b": 1, "a": 2}, 3),
    "mesh of points": lambda t, log: log.add_mesh("m", t.arange(9.0).view(1, 3, 3)),
    "hparams": lambda t, log: log.add_hparams({"lr": 0.1, "opt": "adam", "n": 3}, {"acc": 0.5}, run_name="run", global_step=2),
    "hparams, domains": lambda t, log: log.add_hparams({"lr": 0.1, "opt": "x"}, {"acc": 0.5}, {"lr": [0.1, 0.2], "opt": ["x", "y"]}, run_name="run"),
    "multilinechart": lambda t, log: log.add_custom_scalars_multilinechart(["a", "b"]),
    "marginchart": lambda t, log: log.add_custom_scalars_marginchart(["a", "b", "c"], "category", "title"),
    "custom_scalars": lambda t, log: log.add_custom_scalars({"T": {"d": ["Multiline", ["x"]], "e": ["Margin", ["p", "q", "r"]]}, "U": {}}),
    "embedding": lambda t, log: log.add_embedding(t.arange(6.0).view(3, 2), ["a", "b", "c"], t.linspace(0, 1, 144).view(3, 3, 4, 4), 5, "tag/x"),
    "embedding of columns": lambda t, log: log.add_embedding(t.eye(2), [["a", 1], ["b", 2]], metadata_header=["n", "k"]),
    # refused
    "scalar of two": lambda t, log: log.add_scalar("s", t.ones(2)),
    "scalar of a word": lambda t, log: log.add_scalar("s", "word"),
    "scalar of a list": lambda t, log: log.add_scalar("s", [1]),
    "histogram of nothing": lambda t, log: log.add_histogram("h", t.empty(0)),
    "histogram_raw, lengths": lambda t, log: log.add_histogram_raw("h", 0, 3, 4, 6, 14, [1, 2, 3], [1, 2]),
    "image of two dimensions": lambda t, log: log.add_image("i", t.ones(4, 5)),
    "images of three dimensions": lambda t, log: log.add_images("i", t.ones(3, 4, 5)),
    "image of no format": lambda t, log: log.add_image("i", t.ones(3, 4, 5), dataformats="CHH"),
    "video of four dimensions": lambda t, log: log.add_video("v", t.ones(2, 3, 4, 4)),
    "audio of two channels": lambda t, log: log.add_audio("a", t.ones(2, 20)),
    "pr_curve, lengths": lambda t, log: log.add_pr_curve("p", t.ones(2), t.ones(3)),
    "hparams of a list": lambda t, log: log.add_hparams([1], {"a": 1}),
    "hparams of lists": lambda t, log: log.add_hparams({"a": [1]}, {"a": 1}),
    "hparams, unknown domain": lambda t, log: log.add_hparams({"a": 1}, {"a": 1}, {"b": [1]}),
    "hparams, wrong domain": lambda t, log: log.add_hparams({"a": 1}, {"a": 1}, {"a": ["x"]}),
    "marginchart of two": lambda t, log: log.add_custom_scalars_marginchart(["a", "b"]),
    "embedding of one dimension": lambda t, log: log.add_embedding(t.ones(3)),
    "embedding, labels": lambda t, log: log.add_embedding(t.ones(3, 2), ["a"]),
    "embedding, images": lambda t, log: log.add_embedding(t.ones(3, 2), None, t.ones(2, 3, 4, 4)),
}


def results(library, call, folder):
    """Everything that a call leaves in a folder, or the kind of error it raises."""
    with writer(library)(folder) as log:
        try:
            call(library, log)
        except Exception as error:
            return type(error)
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found = []
    for path, event in events(folder):
        for value in event.summary.value:
            data = value.metadata.plugin_data
            if data.plugin_name == "hparams":  # with a map, whose order is open
                found.append((path, HParamsPluginData.FromString(data.content)))
                data.ClearField("content")
            if value.HasField("tensor"):  # which has several encodings
                found.append((path, value.tag, array(value).tolist(), array(value).dtype))
                value.ClearField("tensor")
        found.append((path, event.SerializeToString(deterministic=True)))
    others = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*") if "tfevents" not in path.name}
    return found, others


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_agrees_with_torch(tmp_path, call, capsys):
    torch = pytest.importorskip("torch")
    ours, theirs = (results(library, call, tmp_path / library.__name__) for library in (flambeau, torch))
    assert ours == theirs
