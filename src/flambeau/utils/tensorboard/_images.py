"""Images: converted to TensorBoard's format, arranged in grids, and encoded by Pillow."""

import io
import math

import numpy as np
from PIL import Image, ImageDraw
from tensorboard.compat.proto.summary_pb2 import Summary

from ._convert_np import make_np

FORMAT = (
    "size of input tensor and input format are different: the tensor has the shape {shape}, the format {format} names "
    "its dimensions: H and W, and C and N where there are such."
)
COLUMNS = 8


def pixels(tensor, dataformats):
    """The pixels (height, width, channels) of one or more images, as bytes; floats range from 0 to 1."""
    array, names = make_np(tensor), dataformats.upper()
    if len(names) != array.ndim or len(set(names)) != len(names) or not {"H", "W"} <= set(names) <= set("NCHW"):
        raise AssertionError(FORMAT.format(shape=array.shape, format=dataformats))
    missing = [axis for axis in "NC" if axis not in names]
    array = np.expand_dims(array, tuple(range(len(missing))))
    order = [*missing, *names]
    array = array.transpose([order.index(axis) for axis in "NHWC"])
    if array.shape[-1] == 1:
        array = np.repeat(array, 3, -1)
    return grid(as_bytes(array), COLUMNS)


def as_bytes(array):
    """Converts pixel values to bytes."""
    return array if array.dtype == np.uint8 else (array.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def grid(images, columns):
    """Arranges images (N, H, W, C) in a grid, row by row, padded with black."""
    count, height, width, channels = images.shape
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    cells = np.zeros((rows * columns, height, width, channels), np.uint8)
    cells[:count] = images
    cells = cells.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return cells.reshape(rows * height, columns * width, channels)


def with_boxes(array, boxes, labels, rescale):
    """Draws labelled red boxes (left, top, right, bottom) on an image."""
    picture = Image.fromarray(array)
    draw = ImageDraw.Draw(picture)
    for index, (left, top, right, bottom) in enumerate(boxes.tolist()):
        draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels is not None:
            box = draw.textbbox((left, bottom), labels[index], anchor="lb")
            draw.rectangle(box, fill="Red")
            draw.text((left, bottom), labels[index], fill="black", anchor="lb")
    size = int(picture.width * rescale), int(picture.height * rescale)
    return np.asarray(picture if rescale == 1 else picture.resize(size, Image.Resampling.LANCZOS))


def png(array):
    """The record of a PNG image."""
    height, width, channels = array.shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=encode(array))


def encode(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, format="PNG")
    return file.getvalue()


def gif(videos, fps):
    """The record of an animation of videos (N, T, C, H, W), side by side."""
    frames = as_bytes(videos).transpose(1, 0, 3, 4, 2)
    if frames.shape[-1] == 1:
        frames = np.repeat(frames, 3, -1)
    frames = [grid(images, math.ceil(math.sqrt(len(images)))) for images in frames]
    file = io.BytesIO()
    first, *rest = [Image.fromarray(frame) for frame in frames]
    first.save(file, format="GIF", save_all=True, append_images=rest, duration=1000 / fps, loop=0)
    height, width, channels = frames[0].shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def figure_pixels(figure, close):
    """The pixels of a rendered matplotlib figure."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    array = np.asarray(canvas.buffer_rgba())[..., :3].copy()
    if close:
        pyplot.close(figure)
    return array
