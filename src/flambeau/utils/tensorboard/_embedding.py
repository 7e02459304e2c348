"""The files of TensorBoard's projector: points, labels and images."""

import math
import pathlib

import numpy as np
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig

from . import _images
from ._convert_np import make_np

TWO_DIMENSIONS = "mat should be 2D, where mat.size(0) is the number of data points; got the shape {shape}"
LABELS = "#labels should equal with #data points: {labels} labels, {points} points"
IMAGES = "#images should equal with #data points: {images} images, {points} points"

CONFIG = "projector_config.pbtxt"


def check(mat, metadata, label_img):
    """Converts points and images to arrays of matching length."""
    points = make_np(mat)
    if points.ndim != 2:
        raise AssertionError(TWO_DIMENSIONS.format(shape=points.shape))
    if metadata is not None and len(metadata) != len(points):
        raise AssertionError(LABELS.format(labels=len(metadata), points=len(points)))
    if label_img is None:
        return points, None
    images = make_np(label_img)
    if len(images) != len(points):
        raise AssertionError(IMAGES.format(images=len(images), points=len(points)))
    return points, images


def write(log_dir, subdir, name, points, metadata, header, images):
    """Writes the files of an embedding to a folder in `log_dir`, and adds it to the projector's config."""
    log_dir = pathlib.Path(log_dir)
    (log_dir / subdir).mkdir(parents=True, exist_ok=True)
    info = EmbeddingInfo(tensor_name=name, tensor_path=f"{subdir}/tensors.tsv")
    _write_rows(log_dir / info.tensor_path, points.tolist())
    if metadata is not None:
        info.metadata_path = f"{subdir}/metadata.tsv"
        rows = [row if header else [row] for row in metadata]
        _write_rows(log_dir / info.metadata_path, [header, *rows] if header else rows)
    if images is not None:
        info.sprite.image_path = f"{subdir}/sprite.png"
        info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
        (log_dir / info.sprite.image_path).write_bytes(_images.encode(_sprite(images)))
    with open(log_dir / CONFIG, "a") as file:
        file.write(text_format.MessageToString(ProjectorConfig(embeddings=[info])))


def _write_rows(path, rows):
    path.write_text("".join("\t".join(str(item) for item in row) + "\n" for row in rows), encoding="utf-8")


def _sprite(images):
    """Arranges all images in a square."""
    side = math.ceil(math.sqrt(len(images)))
    array = _images.as_bytes(images).transpose(0, 2, 3, 1)
    array = np.concatenate([array, np.zeros((side * side - len(array), *array.shape[1:]), np.uint8)])
    return _images.grid(array, side)
