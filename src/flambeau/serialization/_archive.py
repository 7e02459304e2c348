"""Zip archives in PyTorch's layout: entries are stored uncompressed and aligned to 64 bytes.

All sizes in an archive are checked against the file size, so a malicious archive cannot cause allocations larger than
the file.
"""

import struct
import zlib

import numpy as np

DAMAGED = (
    "PytorchStreamReader failed {doing}: {why}. {path} is damaged, cut off, or not a checkpoint: copy it again, or "
    "save it again."
)
NO_DIRECTORY = "failed finding central directory"
COMPRESSED = "the entry {name} is compressed; checkpoints store entries as they are. Unpack it and zip it with -0"
TOO_LONG = "the entries claim {claimed} bytes, the file has {size}"

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR_64 = struct.Struct("<4sIQI")
_SIZES_64 = struct.Struct("<2H2Q")
_FIELD = struct.Struct("<2H")

_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF
_ALIGNMENT = 64
_PADDING = struct.unpack("<H", b"FB")[0]  # the tag of PyTorch's alignment padding field
_FIRST_DATE = 0x21  # 1 January 1980, to make files reproducible
_ENCRYPTED = 1


# ---- writing


class Writer:
    """Writes entries sequentially; only requires ``write`` of the file."""

    def __init__(self, file, root):
        self.file = file
        self.root = root
        self.offset = 0
        self.directory = []

    def add(self, name, data):
        """Adds an entry; `data` is a flat buffer."""
        name = f"{self.root}/{name}".encode()
        offset, size = self.offset, len(data)
        checked = zlib.crc32(data), min(size, _MAX_32), min(size, _MAX_32)
        sizes = _SIZES_64.pack(1, 16, size, size) if size >= _MAX_32 else b""
        extra = sizes + _padding(offset + _LOCAL.size + len(name) + len(sizes))
        version = 45 if sizes else 20
        common = version, 0, 0, 0, _FIRST_DATE, *checked, len(name)
        self._write(_LOCAL.pack(b"PK\3\4", *common, len(extra)) + name + extra)
        self._write(data)
        extra = _extra_64([n for n in (size, size, offset) if n >= _MAX_32])
        rest = len(extra), 0, 0, 0, 0, min(offset, _MAX_32)
        self.directory.append(_CENTRAL.pack(b"PK\1\2", version, *common, *rest) + name + extra)

    def close(self):
        """Writes the central directory, which completes the archive."""
        start, directory = self.offset, b"".join(self.directory)
        count, size = len(self.directory), len(directory)
        self._write(directory)
        if count >= _MAX_16 or start >= _MAX_32 or size >= _MAX_32:
            end = self.offset
            self._write(_END_64.pack(b"PK\6\6", _END_64.size - 12, 45, 45, 0, 0, count, count, size, start))
            self._write(_LOCATOR_64.pack(b"PK\6\7", 0, end, 1))
        short = min(count, _MAX_16)
        self._write(_END.pack(b"PK\5\6", 0, 0, short, short, min(size, _MAX_32), min(start, _MAX_32), 0))

    def _write(self, data):
        self.offset += len(data)
        rest = memoryview(data)
        while len(rest):
            count = self.file.write(rest)  # raw files may write only a part
            rest = rest[len(rest) if count is None else count:]


def _padding(start):
    """The extra field that aligns the data at offset `start`."""
    missing = -start % _ALIGNMENT
    if missing and missing < _FIELD.size:
        missing += _ALIGNMENT
    return _FIELD.pack(_PADDING, missing - _FIELD.size) + bytes(missing - _FIELD.size) if missing else b""


def _extra_64(numbers):
    """The extra field for numbers that exceed 32 bits."""
    return _FIELD.pack(1, 8 * len(numbers)) + struct.pack(f"<{len(numbers)}Q", *numbers) if numbers else b""


# ---- reading


def read_into(file, array):
    """Fills a byte array, across short reads; returns whether it was filled."""
    done, memory = 0, memoryview(array)
    while done < array.size:
        part = file.read(min(array.size - done, 1 << 24))
        if not part:
            return False
        memory[done: done + len(part)] = part
        done += len(part)
    return True


class Reader:
    """The entries of an archive from the current position of a file to its end."""

    def __init__(self, file, path, mapped=None):
        self.file = file
        self.path = path
        self.mapped = mapped  # the mapped file, for storages that are not read
        self.start = file.tell()
        self.size = file.seek(0, 2) - self.start
        self.places = {}  # name -> (offset of the entry, its size, its checksum)
        self._read_directory()
        roots = [name.partition("/")[0] for name in self.places if name.count("/") == 1 and name.endswith("/data.pkl")]
        if not roots:
            raise self.damage_error("there is no data.pkl in it", "locating file data.pkl")
        self.root = roots[0]

    def damage_error(self, why, doing="reading zip archive"):
        return RuntimeError(DAMAGED.format(why=why, doing=doing, path=self.path))

    def leave(self):
        """Seeks to the end of the archive."""
        self.file.seek(self.start + self.size)

    def __contains__(self, name):
        return f"{self.root}/{name}" in self.places

    def read(self, name):
        """Reads an entry."""
        return self.array(name).tobytes()

    def array(self, name):
        """An entry as a writable byte array; of a mapped file, a view of the mapping."""
        offset, size, checksum = self._place(name)
        if self.mapped is not None:
            return np.frombuffer(self.mapped, np.uint8, size, self.start + offset)
        array = np.empty(size, np.uint8)
        self._fill(array, offset)
        if checksum and zlib.crc32(array) != checksum:  # checksums are optional in PyTorch
            raise self.damage_error("the checksum is wrong", f"reading file {name}")
        return array

    def size_of(self, name):
        """The size of an entry in bytes."""
        return self._place(name)[1]

    def _place(self, name):
        """The offset of an entry's data, its size, and its checksum."""
        doing = f"reading file {name}"
        try:
            header, size, checksum = self.places[f"{self.root}/{name}"]
        except KeyError:
            raise self.damage_error("file not found", f"locating file {name}") from None
        mark, *_, name_size, extra_size = _LOCAL.unpack(self._bytes(header, _LOCAL.size, doing))
        offset = header + _LOCAL.size + name_size + extra_size
        if mark != b"PK\3\4" or offset + size > self.size:
            raise self.damage_error("invalid header or archive is corrupted", doing)
        return offset, size, checksum

    def _bytes(self, offset, size, doing="reading zip archive"):
        if offset < 0 or offset + size > self.size:
            raise self.damage_error(NO_DIRECTORY, doing)
        data = np.empty(size, np.uint8)
        self._fill(data, offset)
        return data.tobytes()

    def _fill(self, array, offset):
        self.file.seek(self.start + offset)
        if not read_into(self.file, array):
            raise self.damage_error("the file ends too early")

    def _read_directory(self):
        count, size, start = self._find_directory()
        directory, position = self._bytes(start, size), 0
        for _ in range(count):
            if position + _CENTRAL.size > size:
                raise self.damage_error("invalid header or archive is corrupted")
            fields = _CENTRAL.unpack_from(directory, position)
            position = self._read_entry(directory, position + _CENTRAL.size, fields)
        claimed = sum(size for _, size, _ in self.places.values())
        if claimed > self.size:
            raise self.damage_error(TOO_LONG.format(claimed=claimed, size=self.size))

    def _find_directory(self):
        """The number of entries, and the size and offset of the central directory."""
        reach = min(self.size, _END.size + _MAX_16)
        tail = self._bytes(self.size - reach, reach)
        at = tail.rfind(b"PK\5\6")
        if at < 0 or at + _END.size > reach:
            raise self.damage_error(NO_DIRECTORY)
        _, _, _, _, count, size, start, _ = _END.unpack_from(tail, at)
        if count != _MAX_16 and size != _MAX_32 and start != _MAX_32:
            return count, size, start
        locator = self._bytes(self.size - reach + at - _LOCATOR_64.size, _LOCATOR_64.size)
        mark, _, end, _ = _LOCATOR_64.unpack(locator)
        if mark != b"PK\6\7":
            return count, size, start
        mark, *_, count, size, start = _END_64.unpack(self._bytes(end, _END_64.size))
        if mark != b"PK\6\6":
            raise self.damage_error(NO_DIRECTORY)
        return count, size, start

    def _read_entry(self, directory, position, fields):
        """Parses a directory entry; returns the position of the next one."""
        mark, _, _, flags, method, _, _, checksum, stored, size, name_size, extra_size, note_size, *_, offset = fields
        end = position + name_size + extra_size + note_size
        if mark != b"PK\1\2" or end > len(directory):
            raise self.damage_error("invalid header or archive is corrupted")
        name = directory[position: position + name_size].decode("utf-8", "replace")
        extra = directory[position + name_size: position + name_size + extra_size]
        size, stored, offset = self._wide(extra, size, stored, offset)
        if method or stored != size or flags & _ENCRYPTED:
            raise self.damage_error(COMPRESSED.format(name=name))
        self.places[name] = offset, size, checksum
        return end

    def _wide(self, extra, *numbers):
        """Replaces numbers of an entry that exceed 32 bits by those in its extra field."""
        missing = sum(n == _MAX_32 for n in numbers)
        if not missing:
            return numbers
        while len(extra) >= _FIELD.size:
            kind, size = _FIELD.unpack_from(extra)
            if kind == 1 and min(size, len(extra) - _FIELD.size) >= 8 * missing:
                wide = iter(struct.unpack_from(f"<{missing}Q", extra, _FIELD.size))
                return tuple(next(wide) if n == _MAX_32 else n for n in numbers)
            extra = extra[_FIELD.size + size:]
        raise self.damage_error("invalid header or archive is corrupted")
