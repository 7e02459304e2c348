"""Images read and written with Pillow by the operators that torchvision calls."""

import builtins
import io

import numpy as np
import pytest

import flambeau as torch
from flambeau.vision.images import OPERATORS

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGB_ALPHA = range(5)


def pixels(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


@pytest.mark.parametrize("channels", [1, 3])
def test_png_round_trip(tmp_path, channels):
    image = torch.from_numpy(pixels(channels, 5, 7))
    path = tmp_path / "image.png"
    OPERATORS["write_file"](path, OPERATORS["encode_png"](image, 3))
    data = OPERATORS["read_file"](path)
    assert data.dtype == torch.uint8 and data.dim() == 1
    assert torch.equal(OPERATORS["decode_png"](data), image)
    assert torch.equal(OPERATORS["decode_image"](data), image)


def test_jpeg():
    """A smooth image survives, to within what the format loses."""
    image = torch.arange(0, 240, 10, dtype=torch.uint8).view(1, 1, 24).repeat(3, 16, 1)
    fine, coarse = (OPERATORS["encode_jpeg"](image, quality) for quality in (95, 5))
    assert len(coarse) < len(fine)
    assert (OPERATORS["decode_jpeg"](fine).int() - image.int()).abs().max() <= 3


@pytest.mark.parametrize("mode, shape", [(UNCHANGED, (4, 5, 7)), (GRAY, (1, 5, 7)), (GRAY_ALPHA, (2, 5, 7)), (RGB, (3, 5, 7)), (RGB_ALPHA, (4, 5, 7))])
def test_modes(mode, shape):
    assert OPERATORS["decode_image"](encoded(Image.fromarray(pixels(5, 7, 4)), "PNG"), mode).shape == shape


def test_kinds_of_pixels():
    palette = Image.fromarray(pixels(5, 7, 3)).quantize(4)
    assert OPERATORS["decode_png"](encoded(palette, "PNG")).shape == (3, 5, 7)
    assert OPERATORS["decode_png"](encoded(palette.convert("1"), "PNG")).unique().tolist() == [0, 255]
    deep = np.array([[0, 256, 65535]], dtype=np.uint16)
    out = OPERATORS["decode_png"](encoded(Image.fromarray(deep), "PNG"))
    assert out.dtype == torch.uint16 and out.tolist() == [deep.tolist()]


def test_gif():
    frames = [Image.fromarray(pixels(5, 7, seed=seed)).convert("P") for seed in range(3)]
    assert OPERATORS["decode_gif"](encoded(frames[0], "GIF")).shape == (3, 5, 7)
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert OPERATORS["decode_gif"](moving).shape == OPERATORS["decode_image"](moving).shape == (3, 3, 5, 7)


def test_orientation():
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    data = encoded(Image.fromarray(pixels(5, 7, 3)), "JPEG", exif=exif)
    assert OPERATORS["decode_jpeg"](data, RGB, False).shape == (3, 5, 7)
    assert OPERATORS["decode_jpeg"](data, RGB, True).shape == (3, 7, 5)


WRONG = {
    "not an image": (lambda: OPERATORS["decode_image"](torch.zeros(9, dtype=torch.uint8)), "Unsupported image file"),
    "another format": (lambda: OPERATORS["decode_jpeg"](OPERATORS["encode_png"](torch.zeros(1, 2, 2, dtype=torch.uint8))), "Unsupported image file, JPEG"),
    "no bytes": (lambda: OPERATORS["decode_image"](torch.zeros(9)), "1-dimensional tensor of dtype uint8"),
    "nothing": (lambda: OPERATORS["decode_image"](torch.zeros(0, dtype=torch.uint8)), "non empty"),
    "floats": (lambda: OPERATORS["encode_png"](torch.zeros(3, 2, 2)), "dtype uint8"),
    "two channels": (lambda: OPERATORS["encode_jpeg"](torch.zeros(2, 2, 2, dtype=torch.uint8)), "C = 1 or 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name):
    call, message = WRONG[name]
    with pytest.raises(RuntimeError, match=message):
        call()


def test_without_pillow(monkeypatch):
    load = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "PIL":
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RuntimeError, match="pip install pillow"):
        OPERATORS["encode_png"](torch.zeros(1, 2, 2, dtype=torch.uint8))
