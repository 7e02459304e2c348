"""torchvision: features inside of models, by symbolic tracing."""

import torch
from torchvision.models import mobilenet_v3_small, resnet18
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names
from torchvision.ops import FeaturePyramidNetwork, MultiScaleRoIAlign
from weights import draw, fill, show, show_gradients

train, evaluation = get_graph_node_names(resnet18())
print(train[:6], evaluation[-3:], train == evaluation)
extractor = create_feature_extractor(
    fill(resnet18()).eval(), {"layer1.0.relu": "early", "layer3": "middle", "layer4": "late"}
)
features = extractor(draw(1, 3, 64, 64))
for name, feature in features.items():
    show(name, feature)
extractor = create_feature_extractor(fill(mobilenet_v3_small()).eval(), ["features.3", "flatten"])
for name, feature in extractor(draw(1, 3, 64, 64)).items():
    show(name, feature)
pyramid = fill(FeaturePyramidNetwork([128, 256, 512], 16), seed=2)
backbone = create_feature_extractor(fill(resnet18()).eval(), {"layer2": "0", "layer3": "1", "layer4": "2"})
levels = pyramid(backbone(draw(1, 3, 64, 64)))
pooled = MultiScaleRoIAlign(["0", "1", "2"], 3, 2)(
    levels, [torch.tensor([[4.0, 4, 40, 50], [0, 0, 12, 12]])], [(64, 64)]
)
pooled.square().sum().backward()
show("pooled", pooled)
show_gradients("pyramid", pyramid)
