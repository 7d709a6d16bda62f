"""ZIP archives of the one kind that the service writes: all deflated, ASCII names, one date, nothing between or after.

From the directory every header is written again, and has to be the archive's own, so no other program can see other files
in it. ``zipfile`` would read a directory of any length into memory first.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass

from ..errors import UnreadableError

_MAX_FILES = 131_072
_MAX_PLAIN_FILES = 65_534
"""More have ZIP64's end of the directory too."""
_MAX_FILE_BYTES = 128 * 1024 * 1024
MAX_BYTES = 4 * 1024**3
"""Limit on all files together, inflated."""
_LISTED, _LARGE_END, _END, _MAX_NAME = 46, 56 + 20, 22, 128
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9][A-Za-z0-9_-]*)*")


class ArchiveError(UnreadableError):
    """Raised for what is no archive of the service, or lacks a file."""


@dataclass(frozen=True)
class Packed:
    name: str
    crc: int
    size: int
    deflated: int
    offset: int

    @property
    def _facts(self) -> bytes:
        """The same in both headers: version 2.0, no flags, deflated, 1980-01-01, and no extra field."""
        sizes = (self.crc, self.deflated, self.size, len(self.name), 0)
        return struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, *sizes)

    @property
    def header(self) -> bytes:
        return b"PK\3\4" + self._facts + self.name.encode()

    @property
    def listing(self) -> bytes:
        return b"PK\1\2\x14\0" + self._facts + struct.pack("<HHHII", 0, 0, 0, 0, self.offset) + self.name.encode()

    @property
    def end(self) -> int:
        return self.offset + len(self.header) + self.deflated

    def inflate(self, archive: bytes) -> bytes:
        """Inflates to exactly the size and checksum that it states, behind the header that the directory has."""
        if archive[self.offset : self.offset + len(self.header)] != self.header:
            raise ArchiveError(f"a header that is not the directory's at byte {self.offset}")
        stream = zlib.decompressobj(-15)
        try:
            content = stream.decompress(archive[self.offset + len(self.header) : self.end], self.size + 1)
        except zlib.error:
            raise ArchiveError(f"{self.name} does not inflate") from None
        is_whole = stream.eof and not stream.unused_data and not stream.unconsumed_tail
        if not is_whole or (len(content), zlib.crc32(content)) != (self.size, self.crc):
            raise ArchiveError(f"{self.name} does not have the size and checksum that it states")
        return content


def _write_end(files: int, length: int, start: int) -> bytes:
    """The end of a directory of this length, which begins at ``start``."""
    is_large = files > _MAX_PLAIN_FILES
    large = b""
    if is_large:
        large = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, files, files, length, start)
        large += struct.pack("<4sIQI", b"PK\6\7", 0, start + length, 1)
    count = 0xFFFF if is_large else files
    return large + struct.pack("<4sIHHIIH", b"PK\5\6", 0, count, count, length, start, 0)


def _find_directory(archive: bytes) -> int:
    """Where it begins, by the end of the archive. What follows is at most as long as a directory of ours can be."""
    end = archive[-_END:]
    if archive[:4] != b"PK\3\4" or len(end) < _END or end[:4] != b"PK\5\6":
        raise ArchiveError("not a ZIP archive of ours")
    (start,) = struct.unpack_from("<I", end, 16)
    if not _END <= len(archive) - start <= _MAX_FILES * (_LISTED + _MAX_NAME) + _LARGE_END + _END:
        raise ArchiveError("it breaks off, or has too many files")
    return int(start)


def read_archive(archive: bytes) -> dict[str, Packed]:
    """The files in their order. Nothing is inflated."""
    start = at = _find_directory(archive)
    files = dict[str, Packed]()
    offset = total = 0
    while offset < start:
        if at + _LISTED > len(archive):
            raise ArchiveError(f"it breaks off at byte {offset}")
        crc, deflated, size, length = struct.unpack_from("<IIIH", archive, at + 16)
        name = archive[at + _LISTED : at + _LISTED + length].decode("latin-1")
        if length > _MAX_NAME or _NAME.fullmatch(name) is None:
            raise ArchiveError(f"the file name {name[:_MAX_NAME]!r}, which no archive of ours has")
        if name in files:
            raise ArchiveError(f"{name} is there twice")
        one = Packed(name, crc, size, deflated, offset)
        total += size
        if size > _MAX_FILE_BYTES or total > MAX_BYTES or len(files) == _MAX_FILES:
            raise ArchiveError(f"too many or too large files, from {name} on")
        files[name] = one
        at += _LISTED + length
        offset = one.end
    directory = b"".join(one.listing for one in files.values())
    if archive[start:] != directory + _write_end(len(files), len(directory), offset):
        raise ArchiveError("the directory is not that of the files before it, or bytes follow it")
    return files
