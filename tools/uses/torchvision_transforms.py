"""torchvision: transforms, version 1 and 2, on tensors and on images of Pillow."""

import numpy as np
import torch
from PIL import Image
from torchvision import transforms, tv_tensors
from torchvision.transforms import InterpolationMode, v2
from torchvision.utils import make_grid
from weights import draw, show

pixels = np.random.default_rng(0).integers(0, 256, (20, 24, 3), dtype=np.uint8)
image = Image.fromarray(pixels)
tensor = draw(3, 20, 24)
normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])

train = transforms.Compose(
    [
        transforms.RandomResizedCrop(16),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.2, 0.2, 0.2),
        transforms.ToTensor(),
        normalize,
    ]
)
test = transforms.Compose([transforms.Resize(18), transforms.CenterCrop(16), transforms.ToTensor(), normalize])
torch.manual_seed(0)
show("train", train(image), train(image))
show("test", test(image))
torch.manual_seed(1)
for each in (
    transforms.Resize((10, 12)),
    transforms.Resize(30, interpolation=InterpolationMode.BICUBIC),
    transforms.Pad(2, padding_mode="reflect"),
    transforms.Grayscale(3),
    transforms.RandomRotation(30),
    transforms.RandomAffine(10, (0.1, 0.1), (0.8, 1.2)),
    transforms.GaussianBlur(3),
    transforms.RandomErasing(1.0),
    transforms.RandomPerspective(p=1.0),
    transforms.ColorJitter(0.3, 0.3, 0.3, 0.1),
    transforms.RandomInvert(1.0),
    transforms.RandomAdjustSharpness(2.0, 1.0),
    transforms.RandomAutocontrast(1.0),
    transforms.FiveCrop(8),
):
    out = each(tensor)
    show(type(each).__name__, *(out if isinstance(out, tuple) else [out]))

torch.manual_seed(2)
modern = v2.Compose(
    [
        v2.ToImage(),
        v2.RandomResizedCrop(16, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5] * 3, [0.5] * 3),
    ]
)
show("v2", modern(image), modern(image))
boxes = tv_tensors.BoundingBoxes([[2, 3, 10, 12], [5, 5, 20, 18]], format="XYXY", canvas_size=(20, 24))
mask = tv_tensors.Mask((draw(20, 24) > 0.5).to(torch.uint8))
sample = {"image": tv_tensors.Image(tensor), "boxes": boxes, "mask": mask, "label": 3}
out = v2.Compose([v2.Resize((10, 12)), v2.RandomHorizontalFlip(1.0)])(sample)
print(type(out["boxes"]).__name__, out["boxes"].tolist(), out["label"], type(out["image"]).__name__)
show("sample", out["image"], out["mask"])
for each in (v2.RandomRotation(20), v2.ElasticTransform(5.0, 1.0), v2.RandAugment(), v2.GaussianNoise()):
    torch.manual_seed(3)
    out = each((tensor * 255).to(torch.uint8) if isinstance(each, v2.RandAugment) else tensor)
    show(type(each).__name__, out.float())
torch.manual_seed(4)
mixed, labels = v2.MixUp(num_classes=5)(draw(4, 3, 8, 8), torch.tensor([0, 1, 2, 3]))
show("MixUp", mixed, labels)
show("grid", make_grid(draw(5, 3, 6, 6), nrow=3, normalize=True))
