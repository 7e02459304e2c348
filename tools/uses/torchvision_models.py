"""torchvision: ten models, forward and backward."""

import torch
from torch.nn import functional as F
from torchvision import models
from weights import draw, fill, show, show_gradients

NAMES = [
    "resnet18",
    "squeezenet1_1",
    "densenet121",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "shufflenet_v2_x0_5",
    "efficientnet_b0",
    "regnet_y_400mf",
    "mnasnet0_5",
    "googlenet",
]
for name in NAMES:
    settings = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    model = fill(models.get_model(name, weights=None, num_classes=10, **settings)).eval()
    out = model(draw(2, 3, 64, 64))
    F.cross_entropy(out, torch.tensor([3, 7])).backward()
    show(name, out)
    show_gradients(name, model)
small = models.VisionTransformer(
    image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=10
)
out = fill(small)(draw(2, 3, 32, 32))
out.square().sum().backward()
show("vit", out)
show_gradients("vit", small)
print(models.resnet18().layer1[0])
