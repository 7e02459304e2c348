"""torchinfo: the table of a model."""

from torch import nn
from torchinfo import summary
from weights import draw

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Sequential(nn.Flatten(), nn.Linear(16 * 8 * 8, 32), nn.Dropout(), nn.Linear(32, 10)),
)
print(
    summary(
        model,
        input_size=(4, 3, 16, 16),
        depth=3,
        verbose=0,
        col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds"),
    )
)
print(summary(nn.LSTM(8, 16, 2, batch_first=True), input_data=draw(2, 5, 8), verbose=0))
