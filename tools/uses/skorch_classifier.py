"""skorch: a network as an estimator of scikit-learn."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler
from torch import nn

x, y = make_classification(120, 10, n_informative=5, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)


class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(10, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 2), nn.Softmax(dim=-1)
        )

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
net = NeuralNetClassifier(
    Net,
    max_epochs=5,
    lr=0.1,
    iterator_train__shuffle=True,
    verbose=0,
    optimizer=torch.optim.SGD,
    optimizer__momentum=0.9,
    callbacks=[
        EpochScoring("accuracy", lower_is_better=False, name="score"),
        LRScheduler("StepLR", step_size=2),
        EarlyStopping(patience=4),
    ],
)
net.fit(x, y)
for row in net.history:
    print(row["epoch"], f"{row['train_loss']:.4f} {row['valid_loss']:.4f} {row['score']:.4f}")
print(net.predict(x[:8]), np.round(net.predict_proba(x[:2]), 4).tolist(), f"{net.score(x, y):.4f}")
search = GridSearchCV(
    Pipeline(
        [
            ("scale", StandardScaler()),
            ("net", NeuralNetClassifier(Net, max_epochs=2, lr=0.1, verbose=0, train_split=None)),
        ]
    ),
    {"net__module__hidden": [4, 8]},
    cv=2,
    scoring="accuracy",
)
torch.manual_seed(1)
search.fit(x, y)
print(search.best_params_, f"{search.best_score_:.4f}")
