"""The cost of a DataLoader with 2 workers: an epoch over samples of several sizes, and starting the workers."""

from _harness import Suite

suite = Suite("data")


def images(t, count, *shape):
    """A dataset of (image, label) pairs, preloaded in memory."""

    class Images(t.utils.data.Dataset):
        def __init__(self):
            self.pixels = t.zeros(64, *shape)

        def __len__(self):
            return count

        def __getitem__(self, index):
            return self.pixels[index % 64], index

    return Images()


def epochs(t, dataset, **settings):
    """A call that iterates over all batches; its result depends on all labels and the shape of the last image."""
    loader = t.utils.data.DataLoader(dataset, num_workers=2, **settings)

    def run():
        labels = 0
        for batch, label in loader:  # noqa: B007 (the last one counts)
            labels += t.as_tensor(label).sum()
        return labels + batch.numel()

    return run


def case(name, count, shape, batch_size, **settings):
    suite.case(name)(lambda t: epochs(t, images(t, count, *shape), batch_size=batch_size, **settings))


case("200 batches of 1 x 3 numbers", 200, (3,), 1, persistent_workers=True)
case("200 batches of 32 x 16 numbers", 6400, (16,), 32, persistent_workers=True)
case("50 batches of 64 x 3x32x32", 3200, (3, 32, 32), 64, persistent_workers=True)
case("50 batches of 64 x 3x32x32, shuffled", 3200, (3, 32, 32), 64, persistent_workers=True, shuffle=True)
case("20 batches of 16 x 3x224x224", 320, (3, 224, 224), 16, persistent_workers=True)
case("20 samples of 3x224x224, not collated", 20, (3, 224, 224), None, persistent_workers=True)
case("start 2 workers, 4 batches of 1 x 3 numbers", 4, (3,), 1)

if __name__ == "__main__":
    suite.main()
