"""ZIP archives of the one kind that the service writes: all deflated, ASCII names, one date, nothing between or after.

``zipfile`` reads which files there are. From that list every header is written again, and has to be the archive's own, so
no other program can see other files in it.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass

from ..errors import UnreadableError

_MAX_FILES = 131_072
_MAX_PLAIN_FILES = 65_534
"""More have ZIP64's end of the directory too."""
_MAX_FILE_BYTES = 128 * 1024 * 1024
MAX_BYTES = 4 * 1024**3
"""Limit on all files together, inflated."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9][A-Za-z0-9_-]*)*")


class ArchiveError(UnreadableError):
    """It isn't an archive of the service, or a file isn't in it."""


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
        """Inflates to exactly the size and checksum that it states."""
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


def read_archive(archive: bytes) -> dict[str, Packed]:
    """The files in their order. Nothing is inflated."""
    try:
        listed = zipfile.ZipFile(io.BytesIO(archive)).infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error):
        raise ArchiveError("not a ZIP archive of ours") from None
    files = dict[str, Packed]()
    offset = total = 0
    for info in listed:
        one = Packed(info.filename, info.CRC, info.file_size, info.compress_size, offset)
        if _NAME.fullmatch(one.name) is None:
            raise ArchiveError(f"the file name {one.name!r}, which no archive of ours has")
        if one.name in files:
            raise ArchiveError(f"{one.name} is there twice")
        total += one.size
        if one.size > _MAX_FILE_BYTES or total > MAX_BYTES or len(files) == _MAX_FILES:
            raise ArchiveError(f"too many or too large files, from {one.name} on")
        if archive[offset : offset + len(one.header)] != one.header:
            raise ArchiveError(f"a header that no archive of ours has at byte {offset}")
        files[one.name] = one
        offset = one.end
    directory = b"".join(one.listing for one in files.values())
    if not files or archive[offset:] != directory + _write_end(len(files), len(directory), offset):
        raise ArchiveError("the directory is not that of the files before it, or bytes follow it")
    return files
