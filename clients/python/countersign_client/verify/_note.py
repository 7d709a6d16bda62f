"""The log: signed notes and checkpoints (C2SP), witnesses' cosignatures, and inclusion in the Merkle tree (RFC 9162)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ._bytes import base64_decode, hex_decode, parse_decimal, sha256
from ._ed25519 import verify_strict
from ._ml_dsa import HAS_ML_DSA, verify_ml_dsa
from ._outcome import Check, fail, passed, skip

_MAX_SIGNATURES = 100
_MAX_NOTE_CHARACTERS = 1_000_000
_ML_DSA_KEY_BYTES = 1312


@dataclass(frozen=True)
class VerifierKey:
    name: str
    type: int
    """1: Ed25519 over the note's text; 4 and 6: timestamped cosignatures by Ed25519 and ML-DSA-44."""
    public_key: bytes

    @property
    def key_hash(self) -> bytes:
        return sha256(f"{self.name}\n".encode(), bytes([self.type]), self.public_key)

    @property
    def key_id(self) -> bytes:
        return self.key_hash[:4]


def _is_key_name(name: str) -> bool:
    # White_Space of Unicode is str.isspace without U+001C to U+001F, which are controls anyway.
    return name != "" and not any(one == "+" or one.isspace() or one < " " for one in name)


def parse_verifier_key(vkey: str) -> VerifierKey:
    match = re.fullmatch(r"([^+]+)\+([0-9a-f]{8})\+([^\n\r\u2028\u2029]+)", vkey)
    if match is None or not _is_key_name(match[1]):
        raise ValueError("not a verifier key")
    data = base64_decode(match[3])
    if len(data) < 33 or len(data) != {1: 33, 4: 33, 6: 1 + _ML_DSA_KEY_BYTES}.get(data[0]):
        raise ValueError("unknown type of verifier key")
    key = VerifierKey(match[1], data[0], data[1:])
    if key.key_id != hex_decode(match[2]):
        raise ValueError("the verifier key's ID does not fit")
    return key


@dataclass(frozen=True)
class NoteSignature:
    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True)
class SignedNote:
    text: str
    signatures: tuple[NoteSignature, ...]

    def signatures_of(self, key: VerifierKey) -> list[bytes]:
        return [one.signature for one in self.signatures if (one.name, one.key_id) == (key.name, key.key_id)]


def parse_note(note: str) -> SignedNote:
    note.encode()
    if len(note) > _MAX_NOTE_CHARACTERS or re.search(r"[\x00-\x09\x0b-\x1f]", note):
        raise ValueError("not the text of a note")
    blank = note.rfind("\n\n")
    lines = note[blank + 2 :]
    if blank < 0 or not lines.endswith("\n"):
        raise ValueError("the note has no signatures")
    signatures = tuple(map(_parse_signature_line, lines[:-1].split("\n")))
    if len(signatures) > _MAX_SIGNATURES:
        raise ValueError("too many signatures")
    return SignedNote(note[: blank + 1], signatures)


def _parse_signature_line(line: str) -> NoteSignature:
    parts = line.split(" ")
    if len(parts) != 3 or parts[0] != "—" or "\ufeff" in line or not _is_key_name(parts[1]):
        raise ValueError("not a signature line")
    data = base64_decode(parts[2])
    if len(data) <= 4:
        raise ValueError("not a signature line")
    return NoteSignature(parts[1], data[:4], data[4:])


@dataclass(frozen=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes


def parse_checkpoint(text: str) -> Checkpoint:
    """Raises ValueError for every text but the one spelling of a checkpoint."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] != "" or "" in lines[:-1]:
        raise ValueError("not a checkpoint")
    root = base64_decode(lines[2])
    if len(root) != 32:
        raise ValueError("a root hash has 32 bytes")
    return Checkpoint(lines[0], parse_decimal(lines[1]), root)


def origin_of(note: str) -> str | None:
    try:
        return parse_checkpoint(parse_note(note).text).origin
    except ValueError:
        return None


@dataclass(frozen=True)
class SignedCheckpoint:
    checkpoint: Checkpoint
    note: SignedNote


@lru_cache(maxsize=256)
def verify_checkpoint(note: str, key: VerifierKey) -> SignedCheckpoint | Check:
    """Verifies the note as a checkpoint of the log that this key names; else returns the problem."""
    try:
        parsed = parse_note(note)
        checkpoint = parse_checkpoint(parsed.text)
    except ValueError:
        return fail("checkpoint_malformed")
    if checkpoint.origin != key.name:
        return fail("checkpoint_of_another_log")
    if not _is_signed(parsed, key):
        return fail("checkpoint_signature_invalid")
    return SignedCheckpoint(checkpoint, parsed)


def _is_signed(note: SignedNote, key: VerifierKey) -> bool:
    """If several lines claim this key, every one must verify."""
    if key.type != 1:
        raise ValueError("only keys of type 1 sign a note's text")
    own = note.signatures_of(key)
    return own != [] and all(verify_strict(one, note.text.encode(), key.public_key) for one in own)


@dataclass(frozen=True)
class Witnessed:
    name: str
    time_ms: int


def read_cosigners(note: str, witnesses: Sequence[VerifierKey]) -> list[Witnessed] | None:
    """Cosigners of the note and their times. None if one of these witnesses' lines does not verify, or it is no note."""
    try:
        parsed = parse_note(note)
        named = [key for key in witnesses if parsed.signatures_of(key)]
        times = [_read_cosignature(parsed, key) for key in named]
    except ValueError:
        return None
    known = [time for time in times if time is not None]
    if len(known) < len(times):
        return None
    return [Witnessed(key.name, time * 1000) for key, time in zip(named, known, strict=True)]


def _read_cosignature(note: SignedNote, key: VerifierKey) -> int | None:
    if key.type == 1:
        raise ValueError("only keys of type 4 and 6 cosign")
    times: list[int] = []
    for line in note.signatures_of(key):
        time = int.from_bytes(line[:8], "big")
        if len(line) < 72 or time >= 2**53:
            return None
        if key.type == 6:
            is_signed = verify_ml_dsa(line[8:], _subtree_message(key.name, time, parse_checkpoint(note.text)), key.public_key)
        else:
            message = f"cosignature/v1\ntime {time}\n{note.text}".encode()
            is_signed = len(line) == 72 and verify_strict(line[8:], message, key.public_key)
        if not is_signed:
            return None
        times.append(time)
    return max(times, default=None)


def _subtree_message(name: str, time: int, checkpoint: Checkpoint) -> bytes:
    """``cosigned_message`` of a whole tree (c2sp.org/tlog-cosignature)."""
    cosigner, origin = name.encode(), checkpoint.origin.encode()
    if not (0 < len(cosigner) < 256 and 0 < len(origin) < 256):
        raise ValueError("a name of 1 to 255 bytes")
    sizes = bytes(8) + checkpoint.size.to_bytes(8, "big")
    head = bytes([len(cosigner)]) + cosigner + time.to_bytes(8, "big") + bytes([len(origin)]) + origin
    return b"subtree/v1\n\0" + head + sizes + checkpoint.root


def check_post_quantum(note: str, keys: Sequence[VerifierKey]) -> list[Check]:
    """The log's second signature, if a key for it is trusted. ``note``: a checkpoint whose first signature holds."""
    origin = origin_of(note)
    key = next((one for one in keys if one.name == origin), None)
    if key is None:
        return []
    parsed = parse_note(note)
    if not parsed.signatures_of(key):
        found = skip("post_quantum_absent")
    elif not HAS_ML_DSA:
        found = skip("post_quantum_not_checked")
    elif _read_cosignature(parsed, key) is None:
        found = fail("post_quantum_invalid")
    else:
        found = passed("the log has signed this checkpoint by ML-DSA-44 too")
    return [found.named("post_quantum")]


def leaf_hash(data: bytes) -> bytes:
    return sha256(b"\0", data)


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    return root_of_branch(leaf, index, size, proof) == root


def root_of_branch(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """None for a branch that fits no tree of this size."""
    if index >= size or any(len(one) != 32 for one in proof):
        return None
    position, last, value = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return None
        if position % 2 or position == last:
            value = sha256(b"\1", sibling, value)
            # Where the node has no right sibling it is its own parent: climb to the level that has one.
            while not position % 2 and position:
                position, last = position // 2, last // 2
        else:
            value = sha256(b"\1", value, sibling)
        position, last = position // 2, last // 2
    return value if last == 0 else None


@dataclass(frozen=True)
class TlogProof:
    index: int
    proof: tuple[bytes, ...]
    checkpoint: str
    extra: bytes | None


def parse_tlog_proof(file: str) -> TlogProof:
    """c2sp.org/tlog-proof. Raises ValueError for a malformed file; the checkpoint in it is not looked at."""
    blank = file.find("\n\n")
    lines = file[: max(blank, 0)].split("\n")
    if lines.pop(0) != "c2sp.org/tlog-proof@v1" or not lines:
        raise ValueError("not a tlog-proof")
    extra = base64_decode(lines.pop(0)[6:]) if lines[0].startswith("extra ") else None
    if not lines or not lines[0].startswith("index "):
        raise ValueError("a tlog-proof without an index")
    index = parse_decimal(lines.pop(0)[6:])
    proof = tuple(map(base64_decode, lines))
    if len(proof) > 63 or any(len(one) != 32 for one in proof):
        raise ValueError("a proof hash has 32 bytes")
    return TlogProof(index, proof, file[blank + 2 :], extra)


