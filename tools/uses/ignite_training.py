"""pytorch-ignite: a trainer and an evaluator, with metrics, handlers and checkpoints."""

import os
import tempfile

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, TerminateOnNan
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from weights import draw, fill

inputs = draw(64, 6)
data = TensorDataset(inputs, (inputs.sum(1) > 3).long())
model = fill(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss())
evaluator = create_supervised_evaluator(
    model, {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss()), "confusion": ConfusionMatrix(2)}
)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "average")
folder = tempfile.mkdtemp()
saver = Checkpoint(
    {"model": model, "optimizer": optimizer, "trainer": trainer}, DiskSaver(folder, require_empty=False), n_saved=1
)
trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer))


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    state = evaluator.run(DataLoader(data, batch_size=16))
    print(
        engine.state.epoch,
        f"{engine.state.metrics['average']:.4f} {state.metrics['accuracy']:.4f} {state.metrics['loss']:.4f}",
    )


torch.manual_seed(0)
trainer.run(DataLoader(data, batch_size=16, shuffle=True), max_epochs=3)
print(evaluator.state.metrics["confusion"].tolist(), os.listdir(folder))
before = [p.clone() for p in model.parameters()]
fill(model, seed=3)
Checkpoint.load_objects(
    {"model": model, "optimizer": optimizer, "trainer": trainer},
    checkpoint=torch.load(os.path.join(folder, os.listdir(folder)[0])),
)
print(all(torch.equal(p, q) for p, q in zip(before, model.parameters())), trainer.state.epoch)
