"""A chain of authority from files alone: each attestation names the one by whose authority its agent acted, of the same
instance or another, by id, payload hash and log (docs/wire.md, Chain of authority)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .._json import Json, JsonObject, is_object
from ..errors import UnreadableError
from ._note import origin_of
from ._outcome import Check, fail, passed, skip
from ._reading import read_object
from ._receipt import read_receipt
from ._trust import Trust


@dataclass(frozen=True)
class ChainLink:
    attestation_id: str
    origin: str
    agent_slug: str
    action: str | None
    """None if the payload is not in the file."""
    traceparent: str | None
    missing: list[str]
    """Checks of the receipt that had nothing to read."""
    warnings: list[str]
    """Codes of what the record is to be read with."""

    @property
    def words(self) -> str:
        words = [f"{self.agent_slug}, in {self.origin}"]
        words += [f"not in the file: {', '.join(self.missing)}"] if self.missing else []
        return "; ".join(words + ([f"warnings: {', '.join(self.warnings)}"] if self.warnings else []))


@dataclass(frozen=True)
class ChainReport:
    kind: Literal["chain"]
    verdict: Literal["valid", "invalid", "incomplete"]
    checks: list[Check]
    links: list[ChainLink]
    """The attestation that was asked about first, then by whose authority; empty if a check failed."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Read:
    link: ChainLink
    payload_hash: str
    request: JsonObject | None
    check: Check


def _choose_trust(origin: str, trusts: Sequence[Trust]) -> Trust:
    """The keys of the instance whose log the receipt is in; of no other, which could sign for it."""
    own = (trust for trust in trusts if any(key.name == origin for key in trust.log_keys))
    found = next(own, None)
    if found is None:
        raise UnreadableError(f"no keys are given for the log {origin}")
    return found


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _read(given: str | Mapping[str, Any], trusts: Sequence[Trust]) -> _Read:
    from . import verify

    receipt = read_receipt(read_object(given))
    origin = origin_of(receipt.log.checkpoint) or ""
    report = verify(given, _choose_trust(origin, trusts))
    predicate = (report.statement or {}).get("predicate")
    request = predicate.get("request") if is_object(predicate) else None
    named = request if is_object(request) else {}
    link = ChainLink(
        receipt.attestation_id,
        origin,
        receipt.agent_slug,
        _text(named.get("action")),
        _text(named.get("traceparent")),
        report.missing,
        [*(one.code for one in report.warnings), *report.stated_warnings],
    )
    failed = next((check.name for check in report.checks if check.status == "fail"), None)
    check = passed(link.words) if failed is None else fail("chain_link_invalid", check=failed)
    return _Read(link, receipt.payload_hash.hex(), request if is_object(request) else None, check)


def _follow(at: _Read, found: Mapping[str, _Read]) -> _Read | Check | None:
    """From one link to the next; None at the chain's beginning."""
    if at.request is None:
        return skip("chain_payload_absent")
    parent = at.request.get("parent")
    if not is_object(parent):
        return None
    following = found.get(str(parent["id"]))
    if following is None:
        return skip("chain_file_absent", id=parent["id"], origin=parent["origin"])
    is_same = (following.payload_hash, following.link.origin) == (parent["payload_hash"], parent["origin"])
    return following if is_same else fail("chain_broken", id=parent["id"])


def check_chain(receipts: Sequence[str | Mapping[str, Any]], trusts: Sequence[Trust]) -> ChainReport:
    """``receipts``: the first is the one that is asked about. ``trusts``: the keys of each instance.

    ``incomplete``: nothing failed, and the files don't show the whole chain.
    """
    read = [_read(receipt, trusts) for receipt in receipts]
    found = {one.link.attestation_id: one for one in read}
    if len(found) < len(read):
        raise UnreadableError("one attestation is there twice")
    checks, links, seen = list[Check](), list[ChainLink](), set[str]()
    at: _Read | Check | None = read[0] if read else None
    # A hash in its own preimage can't be made, so no chain comes back to where it was.
    while isinstance(at, _Read):
        seen.add(at.link.attestation_id)
        links.append(at.link)
        checks.append(at.check.named(f"link {len(links)}"))
        at = None if at.check.status == "fail" else _follow(at, found)
    if isinstance(at, Check):
        checks.append(at.named(f"link {len(links) + 1}"))
    stray = next((name for name in found if name not in seen), None)
    if stray is not None and not any(check.status == "fail" for check in checks):
        checks.append(fail("chain_stray", id=stray).named("files"))
    if any(check.status == "fail" for check in checks):
        return ChainReport("chain", "invalid", checks, [])
    is_open = any(check.status != "pass" for check in checks) or any(link.missing for link in links)
    return ChainReport("chain", "incomplete" if is_open else "valid", checks, links)
