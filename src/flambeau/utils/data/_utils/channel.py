"""Messages between a DataLoader and a worker, over a socket pair."""

import array
import contextlib
import socket
import struct

from .segments import Loan

HEADER = struct.Struct("<qIQ")  # message number, number of loans, number of bytes that follow
LOAN = struct.Struct("<IQQ?")  # the fields of a Loan, and whether its descriptor follows the message
DESCRIPTOR_BYTES = array.array("i").itemsize
CHUNK = 1 << 16


class Channel:
    """One end of a connection. A message consists of a number, bytes, and arrays on loan."""

    def __init__(self, sock):
        self.socket = sock
        self._unsent = bytearray()

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        """Closes the connection, including copies of the socket in forked processes."""
        with contextlib.suppress(OSError):  # the other end may have closed it
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    # ---- sending

    def send(self, number, payload, loans=(), segments=None):
        """Sends a message with the descriptors of segments that are new to the other end; blocks until sent."""
        fresh = dict(segments.descriptors(loans)) if loans else {}
        self.socket.sendall(_head(number, payload, loans, set(fresh)) + payload)
        for fd in fresh.values():
            rights = array.array("i", [fd])
            self.socket.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        if fresh:
            segments.close_descriptors(fresh)

    def send_nowait(self, number, payload):
        """Sends as much of a message as possible without blocking; ``flush`` sends the rest.

        This keeps the parent from deadlocking with a worker that waits for it.
        """
        self._unsent += _head(number, payload, (), ()) + payload
        self.flush()

    def flush(self):
        """Sends as much of the pending data as possible without blocking."""
        while self._unsent:
            try:
                sent = self.socket.send(self._unsent, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except ConnectionError:  # the reader is gone, which receive() will report
                sent = len(self._unsent)
            del self._unsent[:sent]

    @property
    def has_unsent(self):
        return bool(self._unsent)

    # ---- receiving

    def receive(self, segments=None):
        """Receives the next message: (number, bytes, arrays); raises EOFError if the other end is closed."""
        number, count, length = HEADER.unpack(self._read(HEADER.size))
        entries = list(LOAN.iter_unpack(self._read(LOAN.size * count))) if count else ()
        payload = self._read(length)
        known = set()
        for segment, size, _, fresh in entries:
            if fresh and segment not in known:
                known.add(segment)
                segments.add(segment, self._read_descriptor(), size)
        return number, payload, [segments.array(Loan(*entry[:3])) for entry in entries]

    def _read(self, count):
        data = self.socket.recv(count)
        if len(data) == count:
            return data
        parts = bytearray(data)
        while len(parts) < count:
            if not data:
                raise EOFError("the other end of the channel is closed")
            data = self.socket.recv(min(count - len(parts), CHUNK))
            parts += data
        return bytes(parts)

    def _read_descriptor(self):
        data, ancillary, *_ = self.socket.recvmsg(1, socket.CMSG_SPACE(DESCRIPTOR_BYTES))
        if not data or not ancillary:
            raise EOFError("the other end of the channel is closed")
        return array.array("i", ancillary[0][2])[0]


def _head(number, payload, loans, fresh):
    loans = [LOAN.pack(*loan, loan.number in fresh) for loan in loans]
    return HEADER.pack(number, len(loans), len(payload)) + b"".join(loans)
