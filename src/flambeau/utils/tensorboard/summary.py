"""TensorBoard summaries, one function per kind; ``SummaryWriter`` writes them to files."""

import io
import json
import warnings
import wave

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams.metadata import (
    EXPERIMENT_TAG,
    PLUGIN_DATA_VERSION,
    SESSION_END_INFO_TAG,
    SESSION_START_INFO_TAG,
)
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.util.tensor_util import make_tensor_proto

from ..._tensor import Tensor
from . import _images
from ._convert_np import make_np
from ._curves import default_edges, precision_recall
from ._curves import histogram as counted

ONE_ELEMENT = "Tensor should contain one element (0 dimensions). Was given size: {size} and {dims} dimensions."
RAW_LENGTHS = "len(bucket_limits) != len(bucket_counts), see the document: {limits} limits, {counts} counts."
NOT_DICTS = "hparam_dict and metric_dict should be dictionary, got {hparams} and {metrics}."
DOMAIN = "parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
HPARAM = "value should be one of int, float, str, bool, or torch.Tensor, but {name!r} is {value!r}"
VIDEO = "a video has the dimensions (N, T, C, H, W), got the shape {shape}"
AUDIO = "input tensor should be 1 dimensional, got the shape {shape}."
LOUD = "audio amplitude out of range, auto clipped."
MARGIN = "Expected 3 tags, got {count}."
MAX_THRESHOLDS = 127  # TensorBoard's limit


def _plugin(name, content=b""):
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))


def _value(tag, **fields):
    return Summary(value=[Summary.Value(tag=tag, **fields)])


def _array(tag, array, plugin, content=b""):
    return _value(tag, tensor=make_tensor_proto(array), metadata=_plugin(plugin, content))


# ---- numbers


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """A scalar; in the new style as an array, which supports double precision."""
    array = make_np(tensor).squeeze()
    if array.ndim:
        raise AssertionError(ONE_ELEMENT.format(size=array.size, dims=array.ndim))
    if not new_style:
        return _value(name, simple_value=float(array))
    return _array(name, array.astype(np.float64 if double_precision else np.float32), "scalars")


def tensor_proto(tag, tensor):
    """A tensor."""
    return _array(tag, make_np(tensor), "tensor")


def histogram(name, values, bins, max_bins=None):
    """The distribution of values; `bins` is "tensorflow" or what ``numpy.histogram`` takes."""
    values = make_np(values).astype(float).ravel()
    counts, limits = counted(values, default_edges() if bins == "tensorflow" else bins, max_bins)
    return histogram_raw(name, values.min(), values.max(), values.size, values.sum(), values @ values, limits, counts)


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A precomputed histogram."""
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError(RAW_LENGTHS.format(limits=len(bucket_limits), counts=len(bucket_counts)))
    return _value(name, histo=HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    ))


def pr_curve(tag, labels, predictions, num_thresholds=MAX_THRESHOLDS, weights=None):
    """A precision-recall curve over thresholds."""
    num_thresholds = min(num_thresholds, MAX_THRESHOLDS)
    weights = None if weights is None else make_np(weights)
    curve = precision_recall(make_np(labels), make_np(predictions), num_thresholds, weights)
    return _curve(tag, curve, num_thresholds)


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=MAX_THRESHOLDS, weights=None):
    """A precomputed precision-recall curve."""
    return _curve(tag, np.stack([np.asarray(row) for row in (tp, fp, tn, fn, precision, recall)]),
                  min(num_thresholds, MAX_THRESHOLDS))


def _curve(tag, curve, num_thresholds):
    content = PrCurvePluginData(version=0, num_thresholds=num_thresholds).SerializeToString()
    return _array(tag, curve.astype(np.float32), "pr_curves", content)


# ---- pictures, sounds, words, shapes


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """An image, or several side by side; `dataformats` names the dimensions."""
    return _value(tag, image=_images.png(_images.pixels(tensor, dataformats)))


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """An image with boxes (left, top, right, bottom) and their labels."""
    array = _images.pixels(tensor_image, dataformats)
    return _value(tag, image=_images.png(_images.with_boxes(array, make_np(tensor_boxes), labels, rescale)))


def video(tag, tensor, fps=4):
    """Videos (N, T, C, H, W), side by side, as an animated GIF."""
    array = make_np(tensor)
    if array.ndim != 5:
        raise ValueError(VIDEO.format(shape=array.shape))
    return _value(tag, image=_images.gif(array, fps))


def audio(tag, tensor, sample_rate=44100):
    """Mono audio, with amplitudes between -1 and 1."""
    array = make_np(tensor).squeeze()
    if array.ndim != 1:
        raise AssertionError(AUDIO.format(shape=array.shape))
    if array.size and np.abs(array).max() > 1:
        warnings.warn(LOUD, stacklevel=3)
    samples = (array.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(samples.tobytes())
    return _value(tag, audio=Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(samples), encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    ))


def text(tag, text):
    """Text, in Markdown."""
    return _array(f"{tag}/text_summary", np.array([text.encode()], object), "text")


def mesh(tag, vertices, colors, faces, config_dict):
    """A point cloud, or a mesh if faces are given."""
    kinds = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
    types = {kind: MeshPluginData.ContentType.Value(kind) for kind in kinds if kinds[kind] is not None}
    config = json.dumps(config_dict or {}, sort_keys=True)
    out = Summary()
    for kind, number in types.items():
        array = make_np(kinds[kind]).astype(np.float32)
        content = MeshPluginData(
            version=0, name=tag, content_type=number, json_config=config, shape=array.shape,
            components=sum(1 << each for each in types.values()),
        )
        out.MergeFrom(_array(f"{tag}_{kind}", array, "mesh", content.SerializeToString()))
    return out


# ---- settings of a run, and of TensorBoard


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """The three records of a run's hyperparameters and metrics: experiment, start and end."""
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError(NOT_DICTS.format(hparams=type(hparam_dict), metrics=type(metric_dict)))
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError(f"hparam_domain_discrete should be a dictionary, got {type(domains)}.")
    for name, domain in domains.items():
        kind = type(hparam_dict.get(name))
        if name not in hparam_dict or not isinstance(domain, list) or not all(isinstance(d, kind) for d in domain):
            raise TypeError(DOMAIN.format(name=name))
    infos, start = [], SessionStartInfo()
    for name, value in hparam_dict.items():
        if value is None:
            continue
        data_type, field, value = _type_of(name, value)
        setattr(start.hparams[name], field, value)
        info = api_pb2.HParamInfo(name=name, type=data_type)
        for choice in domains.get(name, ()):
            setattr(info.domain_discrete.values.add(), field, choice)
        infos.append(info)
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        _hparams(EXPERIMENT_TAG, experiment=experiment), _hparams(SESSION_START_INFO_TAG, session_start_info=start),
        _hparams(SESSION_END_INFO_TAG, session_end_info=end),
    )


def _type_of(name, value):
    """(type, field of the record, value) of a hyperparameter."""
    if isinstance(value, bool):
        return api_pb2.DataType.Value("DATA_TYPE_BOOL"), "bool_value", value
    if isinstance(value, str):
        return api_pb2.DataType.Value("DATA_TYPE_STRING"), "string_value", value
    if not isinstance(value, int | float | np.number) and not (isinstance(value, Tensor) and value.numel() == 1):
        raise ValueError(HPARAM.format(name=name, value=value))
    return api_pb2.DataType.Value("DATA_TYPE_FLOAT64"), "number_value", float(value)


def _hparams(tag, **content):
    data = HParamsPluginData(version=PLUGIN_DATA_VERSION, **content).SerializeToString()
    return _value(tag, metadata=_plugin("hparams", data))


def custom_scalars(layout):
    """The layout of custom charts: {category: {chart: ("Multiline" or "Margin", tags)}}."""
    categories = [
        layout_pb2.Category(title=category, chart=[_chart(title, *chart) for title, chart in charts.items()])
        for category, charts in layout.items()
    ]
    data = layout_pb2.Layout(category=categories).SerializeToString()
    return _array("custom_scalars__config__", np.array(data, object), "custom_scalars")


def _chart(title, kind, tags):
    if kind != "Margin":
        return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
    if len(tags) != 3:
        raise AssertionError(MARGIN.format(count=len(tags)))
    value, lower, upper = tags
    series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
    return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))
