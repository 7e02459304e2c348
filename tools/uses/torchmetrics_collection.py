"""torchmetrics: a collection of metrics over batches, single metrics, a metric inside of a module."""

import torch
import torchmetrics
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.classification import (
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    MulticlassPrecision,
)
from weights import draw

metrics = MetricCollection(
    {
        "accuracy": MulticlassAccuracy(4),
        "precision": MulticlassPrecision(4, average="none"),
        "f1": MulticlassF1Score(4),
        "auroc": MulticlassAUROC(4),
        "confusion": MulticlassConfusionMatrix(4),
    }
)
for step in range(3):
    scores = draw(16, 4, seed=step).softmax(-1)
    labels = (draw(16, seed=10 + step) * 4).long()
    batch = metrics(scores, labels)
    print(step, f"{batch['accuracy'].item():.4f}")
for name, value in metrics.compute().items():
    print(name, [round(v, 4) for v in value.flatten().tolist()])
x, y = draw(20), draw(20, seed=2)
for metric in (
    torchmetrics.MeanSquaredError(),
    torchmetrics.MeanAbsoluteError(),
    torchmetrics.PearsonCorrCoef(),
    torchmetrics.R2Score(),
    torchmetrics.SpearmanCorrCoef(),
):
    print(type(metric).__name__, f"{metric(x, y).item():.4f}")
print("similarity", f"{torchmetrics.CosineSimilarity()(x[None], y[None]).item():.4f}")
for metric in (torchmetrics.MeanMetric(), torchmetrics.MaxMetric()):
    print(type(metric).__name__, f"{metric(x).item():.4f}")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.accuracy = torchmetrics.Accuracy(task="binary")


model = Model()
model.accuracy(torch.tensor([0.9, 0.2, 0.7]), torch.tensor([1, 0, 0]))
print(model, list(model.state_dict()), model.accuracy.compute())
model.accuracy.reset()
print(model.accuracy.update_count)
