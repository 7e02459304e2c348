"""torchvision: boxes and regions, deformed convolutions, a detector that trains and detects."""

import torch
from torchvision import ops
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from weights import draw, fill, show, show_gradients

corners = draw(30, 2) * 20
boxes = torch.cat([corners, corners + 1 + draw(30, 2, seed=2) * 8], 1)
scores = draw(30, seed=3)
print(ops.nms(boxes, scores, 0.3).tolist(), ops.batched_nms(boxes, scores, torch.arange(30) % 3, 0.3).tolist())
show("iou", ops.box_iou(boxes[:5], boxes[5:9]), ops.generalized_box_iou(boxes[:3], boxes[3:5]))
x = draw(1, 8, 16, 16).requires_grad_()
regions = [boxes[:4]]
for function in (ops.roi_align, ops.roi_pool, ops.ps_roi_align, ops.ps_roi_pool):
    x.grad = None
    out = function(x, regions, 2, 0.6)
    out.square().sum().backward()
    show(function.__name__, out, x.grad)
layer = fill(ops.DeformConv2d(8, 4, 3, padding=1))
offset, mask = draw(1, 18, 16, 16, seed=4).requires_grad_(), draw(1, 9, 16, 16, seed=5)
out = layer(x, offset, mask)
out.square().sum().backward()
show("deform", out, offset.grad)

torch.manual_seed(0)
model = fill(
    fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5, min_size=64, max_size=96)
)
images = [draw(3, 64, 80, seed=seed) for seed in (6, 7)]
targets = [
    {"boxes": torch.tensor([[5.0, 5, 40, 40], [20, 10, 60, 50]]), "labels": torch.tensor([1, 2])} for _ in images
]
losses = model.train()(images, targets)
sum(losses.values()).backward()
print({name: round(loss.item(), 4) for name, loss in losses.items()})
show_gradients("detector", model)
with torch.no_grad():
    found = model.eval()(images)
print([len(each["boxes"]) for each in found])
show("found", found[0]["scores"][:5], found[0]["boxes"][:1])
