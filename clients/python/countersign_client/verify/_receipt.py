"""From the answer of POST /v1/attest or GET /v1/verify/{id} to what is verified.

Only fields that carry evidence are taken; ``valid``, ``checks`` and ``independent_verification`` are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .._json import JsonObject, is_object
from ..errors import UnreadableError
from ._reading import (
    decode_base64,
    decode_hex,
    optional_object,
    require_index,
    require_object,
    require_objects,
    require_text,
    require_texts,
)
from ._statement import is_place

Absent = Literal["absent"]


@dataclass(frozen=True)
class LogEvidence:
    index: int
    tree_size: int
    entry: bytes
    inclusion_proof: list[bytes]
    checkpoint: str


@dataclass(frozen=True)
class Neighbour:
    previous: bytes
    payload_hash: bytes


@dataclass(frozen=True)
class Neighbours:
    before: Neighbour | None
    after: Neighbour | None
    head_sequence: int
    head_link: bytes


@dataclass(frozen=True)
class Anchor:
    tree_size: int
    inclusion_proof: list[bytes]
    checkpoint: str
    is_stamped: bool


@dataclass(frozen=True)
class TimeEvidence:
    checkpoint: str | None
    anchors: list[Anchor]


@dataclass(frozen=True)
class Receipt:
    """Everything in here comes from the one who is to be checked."""

    attestation_id: str
    agent_slug: str
    payload: bytes | Literal["hidden", "erased", "lost"]
    is_erased: bool
    """A time of erasure is given, which fits no payload but an erased one."""
    payload_hash: bytes
    signature: bytes | None
    """Over the payload itself; a Sigstore bundle carries the envelope's signature alone."""
    envelope_signature: bytes
    key_id: str
    is_public: bool
    log: LogEvidence
    tool_manifest: bytes | None | Absent = "absent"
    human_authorization: JsonObject | None | Absent = "absent"
    zk_proof: JsonObject | None | Absent = "absent"
    place: JsonObject | None | Absent = "absent"
    neighbours: Neighbours | None = None
    time: TimeEvidence | None = None


def is_attestation_answer(given: JsonObject) -> bool:
    return all(name in given for name in ("attestation_id", "payload_hash", "log"))


def read_receipt(given: JsonObject) -> Receipt:
    return Receipt(
        attestation_id=require_text(given, "attestation_id"),
        agent_slug=require_text(given, "agent_slug"),
        payload=_read_payload(given),
        is_erased=isinstance(given.get("erased_at"), str),
        payload_hash=decode_hex(require_text(given, "payload_hash"), "payload_hash", 32),
        signature=decode_base64(require_text(given, "signature"), "signature", 64),
        envelope_signature=decode_base64(require_text(given, "envelope_signature"), "envelope_signature", 64),
        key_id=require_text(given, "key_id"),
        is_public=_read_is_public(given),
        log=read_log_evidence(require_object(given, "log")),
        tool_manifest=_read_tool_manifest(given),
        human_authorization=_optional(given, "human_authorization"),
        zk_proof=_read_zk_proof(given),
        place=_read_place(given),
        neighbours=_read_neighbours(given),
        time=_read_time(given),
    )


def _optional(given: JsonObject, name: str) -> JsonObject | None | Absent:
    return optional_object(given, name) if name in given else "absent"


def _read_payload(given: JsonObject) -> bytes | Literal["hidden", "erased", "lost"]:
    status = given.get("status", "recorded")
    if status not in ("recorded", "erased"):
        raise UnreadableError("status: expected recorded or erased")
    payload = given.get("payload", False)
    if isinstance(payload, str):
        if status == "erased":
            raise UnreadableError("status: erased, yet the payload is there")
        try:
            return payload.encode()
        except UnicodeEncodeError:
            raise UnreadableError("payload: not well-formed text") from None
    if payload is not None:
        raise UnreadableError("payload: expected a string or null")
    if status == "erased":
        return "lost" if given.get("erased_at", "") is None else "erased"
    # A payload that its reader may not see has a time all the same; without one it was not there to be read.
    is_hidden = given.get("is_public") is False and given.get("timestamp", "") is not None
    return "hidden" if is_hidden else "lost"


def _read_is_public(given: JsonObject) -> bool:
    value = given.get("is_public")
    if not isinstance(value, bool):
        raise UnreadableError("is_public: expected true or false")
    return value


def read_log_evidence(log: JsonObject) -> LogEvidence:
    return LogEvidence(
        require_index(log, "index"),
        require_index(log, "tree_size"),
        decode_base64(require_text(log, "entry"), "log.entry"),
        _read_hashes(log, "inclusion_proof"),
        require_text(log, "checkpoint"),
    )


def _read_hashes(given: JsonObject, name: str) -> list[bytes]:
    return [decode_base64(one, name, 32) for one in require_texts(given, name)]


def _read_tool_manifest(given: JsonObject) -> bytes | None | Absent:
    if "tool_manifest" not in given:
        return "absent"
    value = given["tool_manifest"]
    if value is not None and not isinstance(value, str):
        raise UnreadableError("tool_manifest: expected a string or null")
    return None if value is None else value.encode(errors="replace")


def _read_zk_proof(given: JsonObject) -> JsonObject | None | Absent:
    """GET has it as ``zk_proof``, POST as ``zk.proof``; in a file with both, one would not be looked at."""
    zk = optional_object(given, "zk")
    if zk is None:
        return _optional(given, "zk_proof")
    if "zk_proof" in given:
        raise UnreadableError("zk and zk_proof: expected one of them")
    return require_object(zk, "proof")


def _read_place(given: JsonObject) -> JsonObject | None | Absent:
    place = _optional(given, "record")
    if is_object(place) and not is_place(place):
        raise UnreadableError("record: not a place in a record")
    return place


def _read_neighbours(given: JsonObject) -> Neighbours | None:
    shown = optional_object(given, "record_neighbours") if is_object(given.get("record")) else None
    if shown is None:
        return None
    head = require_object(shown, "head")
    return Neighbours(
        _read_neighbour(shown, "before"),
        _read_neighbour(shown, "after"),
        require_index(head, "sequence"),
        decode_hex(require_text(head, "link"), "head.link", 32),
    )


def _read_neighbour(shown: JsonObject, name: str) -> Neighbour | None:
    given = optional_object(shown, name)
    if given is None:
        return None
    previous = decode_hex(require_text(given, "previous"), f"{name}.previous", 32)
    return Neighbour(previous, decode_hex(require_text(given, "payload_hash"), f"{name}.payload_hash", 32))


def _read_time(given: JsonObject) -> TimeEvidence | None:
    """Reads time evidence by others; the bounds that the response derives from it are not believed."""
    if "time_bounds" not in given:
        return None
    bounds = require_object(given, "time_bounds")
    checkpoint = bounds.get("checkpoint", False)
    if checkpoint is not None and not isinstance(checkpoint, str):
        raise UnreadableError("time_bounds.checkpoint: expected a string or null")
    for name in ("made_after", "made_before"):
        _require_bound(bounds, name)
    return TimeEvidence(checkpoint, [_read_anchor(one) for one in require_objects(bounds, "anchors")])


def _require_bound(bounds: JsonObject, name: str) -> None:
    """For its form alone: a reader believes what it reads there."""
    if name in bounds and bounds[name] is None:
        return
    bound = require_object(bounds, name)
    require_text(bound, "at")
    require_texts(bound, "by")


def _read_anchor(anchor: JsonObject) -> Anchor:
    size = require_index(anchor, "tree_size")
    proof = _read_hashes(anchor, "inclusion_proof")
    checkpoint = require_text(anchor, "checkpoint")
    stamps = require_objects(anchor, "time_stamps")
    for stamp in stamps:
        require_text(stamp, "tsa")
        decode_base64(require_text(stamp, "response"), "time_bounds.anchors.time_stamps.response")
    return Anchor(size, proof, checkpoint, stamps != [])
