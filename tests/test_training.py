"""Whole training scripts: a model, random numbers, an optimizer, a schedule and a loader with workers, under both libraries.

The losses of the first hundred steps are PyTorch's to 1e-4. What PyTorch gave is recorded, so that the comparison also
runs where it is not installed:

    python tests/_programs.py tests/test_training.py     # records anew, needs torch
"""

import pytest

import flambeau
from _programs import Programs

programs = Programs("training.json")

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")  # a machine may have one CPU only

STEPS = 100


def noisy_images(t):
    """Images with a bright corner, which their class is; the noise is drawn in the worker, anew each time."""

    class Images(t.utils.data.Dataset):
        def __len__(self):
            return 240

        def __getitem__(self, index):
            image = t.rand(1, 8, 8)
            row, column = 4 * (index % 4 // 2), 4 * (index % 2)
            image[:, row: row + 4, column: column + 4] += 0.5
            return image, index % 4

    return Images()


def sequences(t, count=240, length=12, words=11):
    """Sequences of words, each of which follows from the one before and a random step."""
    generator = t.Generator().manual_seed(1)
    steps = t.randint(1, 4, (count, length), generator=generator)
    return t.utils.data.TensorDataset(steps.cumsum(1) % words, (steps.sum(1) % words).remainder(4))


def losses(t, model, dataset, optimizer, scheduler):
    """The losses of the first steps; each epoch has a new order, each step a new learning rate."""
    loader = t.utils.data.DataLoader(dataset, batch_size=16, shuffle=True, num_workers=2, drop_last=True)
    found = []
    while len(found) < STEPS:
        for x, y in loader:
            optimizer.zero_grad()
            loss = t.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            found.append(loss.item())
    return found[:STEPS]


@programs
def convolutions(t):
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3), nn.BatchNorm2d(12), nn.ReLU(),
        nn.Dropout(0.25), nn.Flatten(), nn.Linear(48, 4),
    )
    optimizer = t.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = t.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=200)
    return losses(t, model, noisy_images(t), optimizer, scheduler)


@programs
def lstm(t):
    class Tagger(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = t.nn.Embedding(11, 8)
            self.lstm = t.nn.LSTM(8, 16, num_layers=2, dropout=0.2, bidirectional=True, batch_first=True)
            self.out = t.nn.Linear(32, 4)

        def forward(self, x):
            return self.out(self.lstm(self.words(x))[0][:, -1])

    t.manual_seed(1)
    model = Tagger()
    optimizer = t.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-4)
    scheduler = t.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=200, anneal_strategy="linear")
    return losses(t, model, sequences(t), optimizer, scheduler)


@programs
def transformer(t):
    class Classifier(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = t.nn.Embedding(11, 16)
            self.places = t.nn.Parameter(t.randn(12, 16) * 0.1)
            layer = t.nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, dropout=0.1, batch_first=True, norm_first=True, activation="gelu")
            self.encoder = t.nn.TransformerEncoder(layer, 2, norm=t.nn.LayerNorm(16), enable_nested_tensor=False)
            self.out = t.nn.Linear(16, 4)

        def forward(self, x):
            return self.out(self.encoder(self.words(x) + self.places).mean(1))

    t.manual_seed(2)
    model = Classifier()
    optimizer = t.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = t.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=200)
    return losses(t, model, sequences(t), optimizer, scheduler)


@pytest.mark.parametrize("name", programs.names())
def test_losses_as_recorded(name):
    found, recorded = programs.run(name, flambeau), programs.recorded(name)
    assert len(found) == STEPS and found == pytest.approx(recorded, rel=1e-4)
    assert sum(found[-10:]) < sum(found[:10])  # it learns


@pytest.mark.oracle
@pytest.mark.parametrize("name", programs.names())
def test_the_recording_is_what_torch_does(name):
    torch = pytest.importorskip("torch")
    assert programs.run(name, torch) == pytest.approx(programs.recorded(name), rel=1e-4)
