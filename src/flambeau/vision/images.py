"""The operators of ``torch.ops.image``: reads and writes images as byte tensors [C, H, W], using Pillow."""

import io
import pathlib

import numpy as np

import flambeau as torch

NO_PILLOW = "reading and writing images needs Pillow, which is not installed: pip install pillow"
BYTES = "Expected a non empty 1-dimensional tensor of dtype uint8, got {dtype} of shape {shape}"
IMAGE = "Expected an image of dtype uint8 and shape [C, H, W] with C = 1 or 3, got {dtype} of shape {shape}"
MODES = (None, "L", "LA", "RGB", "RGBA")  # indexed by torchvision's ImageReadMode
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L")


def read_file(path):
    """Reads the bytes of a file."""
    return torch.frombuffer(bytearray(pathlib.Path(path).read_bytes()), dtype=torch.uint8)


def write_file(path, data):
    """Writes bytes to a file."""
    pathlib.Path(path).write_bytes(_bytes(data))


def decode_image(data, mode=0, apply_exif_orientation=False):
    """Decodes an image of any format; `mode` is the value of an ImageReadMode."""
    return _decode(data, mode, apply_exif_orientation, None)


def decode_png(data, mode=0, apply_exif_orientation=False):
    """Decodes a PNG image."""
    return _decode(data, mode, apply_exif_orientation, "PNG")


def decode_jpeg(data, mode=0, apply_exif_orientation=False):
    """Decodes a JPEG image."""
    return _decode(data, mode, apply_exif_orientation, "JPEG")


def decode_webp(data, mode=0):
    """Decodes a WebP image."""
    return _decode(data, mode, False, "WEBP")


def decode_gif(data):
    """Decodes a GIF image: [3, H, W], or [N, 3, H, W] for several frames."""
    image = _open(data, "GIF")
    frames = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        frames.append(_to_tensor(image.convert("RGB")))
    return torch.stack(frames) if len(frames) > 1 else frames[0]


def encode_png(input, compression_level=6):
    """Encodes an image as PNG."""
    return _encode(input, "PNG", compress_level=compression_level)


def encode_jpeg(input, quality=75):
    """Encodes an image as JPEG."""
    return _encode(input, "JPEG", quality=quality)


def _pillow():
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise RuntimeError(NO_PILLOW) from None
    return Image, ImageOps


def _bytes(data):
    if data.dtype != torch.uint8 or data.dim() != 1 or not len(data):
        raise RuntimeError(BYTES.format(dtype=data.dtype, shape=tuple(data.shape)))
    return data.numpy(force=True).tobytes()


def _open(data, kind):
    """Opens encoded bytes as a Pillow image, of a given format if `kind` is not None."""
    image_module, _ = _pillow()
    try:
        return image_module.open(io.BytesIO(_bytes(data)), formats=kind and [kind])
    except image_module.UnidentifiedImageError as error:
        raise RuntimeError(f"Unsupported image file, {kind or 'of no known format'}: {error}") from None


def _decode(data, mode, apply_exif_orientation, kind):
    image = _open(data, kind)
    if image.format == "GIF":
        return decode_gif(data)
    if apply_exif_orientation:
        image = _pillow()[1].exif_transpose(image)
    if MODES[mode] is not None:
        return _to_tensor(image.convert(MODES[mode]))
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    return _to_tensor(image)


def _to_tensor(image):
    pixels = np.array(image, dtype=np.uint16 if image.mode in SIXTEEN_BITS else np.uint8, ndmin=3)
    return torch.from_numpy(pixels if len(image.getbands()) == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def _encode(input, kind, **options):
    if input.dtype != torch.uint8 or input.dim() != 3 or input.size(0) not in (1, 3):
        raise RuntimeError(IMAGE.format(dtype=input.dtype, shape=tuple(input.shape)))
    pixels = input.numpy(force=True)
    pixels = pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0))
    file = io.BytesIO()
    _pillow()[0].fromarray(pixels).save(file, kind, **options)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


OPERATORS = {
    each.__name__: each for each in (
        read_file, write_file, decode_image, decode_png, decode_jpeg, decode_webp, decode_gif, encode_png, encode_jpeg,
    )
}
