"""The pages of an agent's record, as GET /v1/agent/{slug}/record answers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._json import Json, JsonObject
from ..errors import UnreadableError
from ._outcome import Check, fail
from ._reading import decode_hex, read_object, require_index, require_object, require_objects, require_text


@dataclass(frozen=True)
class Entry:
    sequence: int
    payload_hash: bytes
    log_origin: str
    log_index: int
    mark: str
    attestation_id: str | None
    """None for what isn't a public attestation."""


@dataclass(frozen=True)
class Page:
    slug: str
    agent_id: str
    entries: list[Entry]
    head: tuple[int, bytes]
    snapshot: Json
    has_snapshot: bool
    next: float | None


def _read_entry(entry: JsonObject) -> Entry:
    kind, visibility = entry.get("kind"), entry.get("visibility")
    if kind in ("decision", "agent_change"):
        mark = str(kind)
    elif kind == "attestation" and visibility in ("public", "private", "erased"):
        mark = str(visibility)
    else:
        raise UnreadableError("entries: an unknown kind or visibility")
    return Entry(
        require_index(entry, "sequence"),
        decode_hex(require_text(entry, "payload_hash"), "payload_hash", 32),
        require_text(entry, "log_origin"),
        require_index(entry, "log_index"),
        mark,
        require_text(entry, "attestation_id") if mark == "public" else None,
    )


def read_page(given: str | Mapping[str, Any]) -> Page:
    page = read_object(given)
    head, following = require_object(page, "head"), page.get("next", "")
    entries = require_objects(page, "entries")
    if following is not None and (isinstance(following, bool) or not isinstance(following, (int, float))):
        raise UnreadableError("next: expected a number or null")
    return Page(
        require_text(page, "slug"),
        require_text(page, "agent_id"),
        [_read_entry(entry) for entry in entries],
        (require_index(head, "sequence"), decode_hex(require_text(head, "link"), "head.link", 32)),
        page.get("snapshot"),
        "snapshot" in page,
        following,
    )


def join(pages: Sequence[Page]) -> tuple[list[Entry], Check | None]:
    """All entries, to the head that the first page states."""
    first, entries = pages[0], list[Entry]()
    for page in pages:
        if page.agent_id != first.agent_id:
            raise UnreadableError("agent_id: differs from page to page")
        start = len(entries) + 1
        entries += page.entries
        end = len(entries) + 1
        if page.next is None or end > first.head[0]:
            return entries, None
        if page.next != end or not page.entries:
            return entries, fail("page_unending", **{"from": start})
    raise UnreadableError(f"the pages from number {len(entries) + 1} on are missing")
