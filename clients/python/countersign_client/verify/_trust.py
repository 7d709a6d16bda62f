"""Trust of the verifier: the keys of GET /v1/pubkey, fetched or kept in a file, or keys that the user pins.

Pinning means that the key reached the verifier another way, or earlier, than the receipt. Keys that the same server
sends along with the receipt only show that the server agrees with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._json import JsonObject, is_object, parse_canonical
from ..errors import UnreadableError
from ._bytes import base64_url_decode
from ._dsse import key_id_of, parse_public_key
from ._ed25519 import verify_strict
from ._note import VerifierKey, origin_of, parse_verifier_key
from ._reading import decode_base64, read_object, require_index, require_object, require_objects, require_text, require_texts
from ._statement import KEY_EVENT


@dataclass(frozen=True)
class TrustedKeys:
    """Keys that reached you another way, or earlier, than the receipt. Without any the service vouches for itself."""

    pubkey: str | Mapping[str, Any] | None = None
    """A saved answer of GET /v1/pubkey. None is fetched then."""
    keys: Sequence[str] = ()
    """Attestation keys: PEM, or base64 of the raw 32 bytes."""
    log_vkeys: Sequence[str] = ()
    """The log's C2SP verifier keys."""
    witness_vkeys: Sequence[str] = ()
    """Verifier keys of witnesses whose clocks you trust."""

    @property
    def is_pinned(self) -> bool:
        return self.pubkey is not None or len(self.keys) > 0


@dataclass(frozen=True)
class TrustedKey:
    key_id: str
    public_key: bytes
    valid_from: int = 0
    """Log indexes for which its signatures are valid: from, and below the other."""
    valid_to: int | None = None
    log_origin: str | None = None
    """The log that the range counts in. Default: any."""
    is_revoked: bool = False

    def signs_for(self, index: int) -> bool:
        return self.valid_from <= index and (self.valid_to is None or index < self.valid_to)


@dataclass(frozen=True)
class Trust:
    keys: tuple[TrustedKey, ...]
    log_keys: tuple[VerifierKey, ...]
    witnesses: tuple[VerifierKey, ...] = ()
    post_quantum_keys: tuple[VerifierKey, ...] = ()
    """For the logs' second signature, by ML-DSA-44."""

    def find(self, key_id: str) -> TrustedKey | None:
        return next((key for key in self.keys if key.key_id == key_id), None)

    def choose_log_key(self, checkpoint: str) -> VerifierKey:
        """The checkpoint is the attacker's, so it may only choose among trusted keys."""
        if not self.log_keys:
            raise UnreadableError("no key of the log is trusted")
        origin = origin_of(checkpoint)
        return next((key for key in self.log_keys if key.name == origin), self.log_keys[0])


def read_trust(answer: str | Mapping[str, Any] | None, pinned: TrustedKeys) -> Trust:
    """``answer``: of GET /v1/pubkey; None if there is none to be had.

    A pinned key is trusted for the log indexes that the service states, or for all; so are the successors that it has
    signed over to. The log's keys are accepted if a trusted key has signed their creation. Nothing vouches for witnesses
    but the pins themselves.
    """
    given = None if answer is None else read_object(answer)
    served = Trust((), ()) if given is None else _read_served(given)
    pinned_logs = _read_vkeys(pinned.log_vkeys)
    log_keys = tuple(key for key in pinned_logs if key.type != 6)
    second = tuple(key for key in pinned_logs if key.type == 6)
    witnesses = _read_vkeys(pinned.witness_vkeys)
    if not pinned.keys:
        return replace(
            served,
            log_keys=log_keys or served.log_keys,
            witnesses=witnesses or served.witnesses,
            post_quantum_keys=second or served.post_quantum_keys,
        )
    events = [] if given is None else _read_key_events(given)
    trusted = _follow_successors([_read_pin(key) for key in pinned.keys], events)
    keys = tuple(found for key in trusted for found in _pin(key, served.keys))
    signers = [key.public_key for key in keys]

    def endorsed(purpose: str, served_keys: tuple[VerifierKey, ...]) -> tuple[VerifierKey, ...]:
        own = [event for event in events if event.purpose == purpose and event.is_signed_by(signers)]
        names = {name for event in own for name in event.names}
        return tuple(key for key in served_keys if key.public_key in names)

    return Trust(
        keys,
        log_keys or endorsed("log", served.log_keys),
        witnesses,
        second or endorsed("log_post_quantum", served.post_quantum_keys),
    )


def _read_served(given: JsonObject) -> Trust:
    log = require_object(given, "log")
    logs = [log, *require_objects(given, "logs", [])]
    # No time stamp is checked here either.
    if "time_authorities" in log:
        require_texts(log, "time_authorities")
    for key in require_objects(require_object(given, "zk") if is_object(given.get("zk")) else {}, "keys", []):
        _refuse_damaged(require_text(key, "public_key"))
    keys = _refuse_twice(tuple(map(_read_key, require_objects(given, "keys", []))))
    witnesses = log.get("witnesses")
    given_witnesses = witnesses if is_object(witnesses) else {}
    members = [one for name in ("members", "post_quantum_members") for one in require_objects(given_witnesses, name, [])]
    vkeys = [require_text(one, "vkey") for one in logs]
    second = _read_vkeys([require_text(one, "post_quantum_vkey") for one in logs if one.get("post_quantum_vkey") is not None])
    return Trust(
        keys,
        _read_vkeys(vkeys),
        _read_vkeys([require_text(one, "vkey") for one in members]),
        tuple(key for key in second if key.type == 6),
    )


def _refuse_damaged(zk_key: str) -> None:
    """No BBS proof is checked here, and a file of keys is judged like by every verifier."""
    try:
        base64_url_decode(zk_key)
    except ValueError:
        raise UnreadableError("zk.keys.public_key: not base64url") from None


def _refuse_twice(keys: tuple[TrustedKey, ...]) -> tuple[TrustedKey, ...]:
    """Rejects a key with two ranges in one log: one range may be from before the key was revoked. The service lists
    each key once per log."""
    for at, key in enumerate(keys):
        for other in keys[:at]:
            if other.key_id == key.key_id and (other.log_origin is None or key.log_origin in (None, other.log_origin)):
                raise UnreadableError(f"keys: {key.key_id} is there twice for one log")
    return keys


def _read_key(key: JsonObject) -> TrustedKey:
    public_key = decode_base64(require_text(key, "public_key"), "keys.public_key", 32)
    key_id = require_text(key, "key_id")
    if key_id != key_id_of(public_key):
        raise UnreadableError(f"keys: {key_id} is the id of another key")
    ends = "valid_to_index" in key and key["valid_to_index"] is None
    return TrustedKey(
        key_id,
        public_key,
        require_index(key, "valid_from_index"),
        None if ends else require_index(key, "valid_to_index"),
        require_text(key, "log_origin") if "log_origin" in key else None,
        key.get("status") == "revoked",
    )


def _read_vkeys(vkeys: Sequence[str]) -> tuple[VerifierKey, ...]:
    try:
        return tuple(map(parse_verifier_key, vkeys))
    except ValueError:
        raise UnreadableError("vkey: not a C2SP verifier key") from None


def _read_pin(text: str) -> bytes:
    try:
        return parse_public_key(text)
    except ValueError as error:
        raise UnreadableError(f"--key: {error}") from None


def _pin(public_key: bytes, served: Sequence[TrustedKey]) -> list[TrustedKey]:
    """Every range that the server states for the key; all indexes if it states none."""
    ranges = [key for key in served if key.public_key == public_key]
    return ranges or [TrustedKey(key_id_of(public_key), public_key)]


@dataclass(frozen=True)
class KeyEvent:
    payload: bytes
    signature: bytes
    event: str
    purpose: str
    subject: bytes
    """The key that the event makes or retires."""
    successor: bytes | None

    @property
    def names(self) -> list[bytes]:
        """The keys that begin by this event."""
        made = [self.subject] if self.event == "made" else []
        return made if self.successor is None else [*made, self.successor]

    def is_signed_by(self, keys: Sequence[bytes]) -> bool:
        return any(verify_strict(self.signature, self.payload, key) for key in keys)


def _read_key_events(given: JsonObject) -> list[KeyEvent]:
    events: list[KeyEvent] = []
    for row in require_objects(given, "key_events", []):
        payload = require_text(row, "payload").encode()
        signature = decode_base64(require_text(row, "signature"), "key_events.signature", 64)
        statement = parse_canonical(payload) or {}
        predicate = statement.get("predicate")
        if statement.get("predicateType") != KEY_EVENT or not is_object(predicate):
            continue
        following = predicate.get("successor")
        successor = _read_public_key(following) if is_object(following) else None
        event, purpose = require_text(predicate, "event"), require_text(predicate, "purpose")
        events.append(KeyEvent(payload, signature, event, purpose, _read_public_key(predicate), successor))
    return events


def _read_public_key(half: JsonObject) -> bytes:
    return decode_base64(require_text(half, "public_key"), "key_events.public_key")


def _follow_successors(pinned: list[bytes], events: Sequence[KeyEvent]) -> list[bytes]:
    """A retired key names its successor in a statement that it signs itself."""
    trusted = list(pinned)
    for key in trusted:
        for event in events:
            successor = event.successor
            is_own = event.purpose == "attestation" and event.event == "retired" and event.subject == key
            if successor is None or not is_own or successor in trusted:
                continue
            if event.is_signed_by([key]):
                trusted.append(successor)
    return trusted
