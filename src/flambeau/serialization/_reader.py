"""Low-level access to the records of a PyTorch zip file."""

import zipfile

NO_RECORD = "PytorchStreamReader failed locating file {name}: file not found"


class PyTorchFileReader:
    """Reads the records of a checkpoint.

    Args:
        file: a path, or a file opened in binary mode.
    """

    def __init__(self, file):
        self._zip = zipfile.ZipFile(file)
        self._folder = self._zip.namelist()[0].partition("/")[0]

    def get_all_records(self):
        """The names of the records."""
        return [name.partition("/")[2] for name in self._zip.namelist()]

    def has_record(self, name):
        """Whether the record exists."""
        return f"{self._folder}/{name}" in self._zip.namelist()

    def get_record(self, name):
        """The bytes of a record."""
        if not self.has_record(name):
            raise RuntimeError(NO_RECORD.format(name=name))
        return self._zip.read(f"{self._folder}/{name}")
