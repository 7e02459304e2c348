"""A LightningModule that is trained, validated, saved and resumed; a loop with accelerate."""

import logging
import sys
import tempfile

import pytorch_lightning as pl
import torch
from _model import draw, fill, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Regression(pl.LightningModule):
    def __init__(self, width=16, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        # No bias before the normalization: its gradient is rounding noise, which AdamW would make a step of.
        self.net = nn.Sequential(nn.Linear(4, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(width, 1))

    def loss(self, batch, stage):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log(f"{stage}_loss", loss)
        return loss

    def training_step(self, batch, index):
        return self.loss(batch, "train")

    def validation_step(self, batch, index):
        self.loss(batch, "val")

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)}


def batches(shuffle=False):
    x = draw(64, 4)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 16, shuffle=shuffle)


def fit(model, folder, epochs, resume=None):
    """The trainer, after so many epochs."""
    quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
    best = pl.callbacks.ModelCheckpoint(monitor="val_loss", save_last=True)
    trainer = pl.Trainer(max_epochs=epochs, accelerator="cpu", gradient_clip_val=1.0, callbacks=[best], **quiet)
    trainer.fit(model, batches(shuffle=True), batches(), ckpt_path=resume, weights_only=False)
    return trainer


def lightning():
    """Losses of a run of four epochs, and of two and two with a checkpoint between them."""
    with tempfile.TemporaryDirectory() as folder:
        model = Regression()
        fill(model)
        pl.seed_everything(0)
        first = fit(model, folder, 2)
        saved = first.checkpoint_callback.last_model_path
        resumed = fit(Regression(), folder, 4, saved)
        loaded = Regression.load_from_checkpoint(resumed.checkpoint_callback.best_model_path, weights_only=False).eval()
        return {
            "first": [float(first.callback_metrics[name]) for name in ("train_loss", "val_loss")],
            "resumed": [float(resumed.callback_metrics[name]) for name in ("train_loss", "val_loss")],
            "steps": [first.global_step, resumed.global_step],
            "predicted": loaded.net(draw(8, 4, seed=1)).flatten().tolist(),
        }


def accelerate():
    """Losses of a loop whose parts accelerate prepares, with accumulated gradients."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    fill(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, batches(), scheduler)
    losses = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss).item())
    return {"losses": losses}


if __name__ == "__main__":
    for measure in (lightning, accelerate):
        if measure.__name__ in sys.argv[1:] or not sys.argv[1:]:
            report(measure.__name__, measure)
