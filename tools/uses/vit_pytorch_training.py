"""vit-pytorch: three of its models, forward, backward and steps."""

import torch
from torch.nn import functional as F
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT
from weights import draw, fill, show, show_gradients

models = {
    "ViT": ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64),
    "SimpleViT": SimpleViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64),
    "CCT": CCT(
        img_size=32,
        embedding_dim=32,
        n_conv_layers=1,
        num_layers=2,
        num_heads=2,
        mlp_ratio=2,
        num_classes=5,
        stochastic_depth=0.0,
        attention_dropout=0.0,
    ),
}
labels = torch.tensor([1, 4, 0])
torch.manual_seed(0)
for name, model in models.items():
    fill(model).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(draw(3, 3, 32, 32)), labels)
        loss.backward()
        optimizer.step()
        print(name, step, f"{loss.item():.4f}")
    show(name, model.eval()(draw(3, 3, 32, 32)))
    show_gradients(name, model)
