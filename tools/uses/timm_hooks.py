"""timm: a VGG whose layers print the shapes that go through them."""

import timm
import torch
from torch import nn


def print_shape(model, input, output):
    print(model)
    print(input[0].shape, '=>', output.shape)
    print('====================================')


def get_children(model: nn.Module):
    # get children from model(取出所有子model及嵌套model)
    children = list(model.children())
    flatt_children = []
    if children == []:
        return model
    else:
        for child in children:
            try:
                flatt_children.extend(get_children(child))
            except TypeError:
                flatt_children.append(get_children(child))
    return flatt_children

model_name = 'vgg11'
model = timm.create_model(model_name, pretrained=False)
flatt_children = get_children(model)
for layer in flatt_children:
    layer.register_forward_hook(print_shape)

batch_input = torch.randn(4,3,299,299)
model(batch_input)
