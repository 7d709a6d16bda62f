"""Writes rosters.json: heads, roots and proofs of rosters by the definition of RFC 6962, section 2.1, in plain Python.

None of it comes from the code under test. Run it with `python3 make_rosters.py`; the same file comes out each time.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

ORGANIZATION = "019a0000-0000-7000-8000-000000000001"
GROUPS = [f"019a0000-0000-7000-8000-00000000010{i}" for i in range(3)]


def canonical(value: object) -> bytes:
    """RFC 8785 for what is here: ASCII names, ASCII strings and whole numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def salt(name: str) -> str:
    return base64.b64encode(sha256(name.encode())[:16]).decode()


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def split(count: int) -> int:
    power = 1
    while power * 2 < count:
        power *= 2
    return power


def root(leaves: list[bytes]) -> bytes:
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0])
    k = split(len(leaves))
    return sha256(b"\1" + root(leaves[:k]) + root(leaves[k:]))


def path(index: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*path(index, leaves[:k]), root(leaves[k:])]
    return [*path(index - k, leaves[k:]), root(leaves[:k])]


def make_entry(i: int) -> tuple[dict[str, object], list[dict[str, str]]]:
    openings = [{"group": group, "salt": salt(f"{i} {group}")} for group in GROUPS[: i % 4]]
    entry = {
        "approver_id": f"019a0000-0000-7000-8000-0000000002{i:02}",
        "credential_id": b64url(sha256(f"credential {i}".encode())),
        "public_key": b64url(bytes.fromhex("a4010103272006215820") + sha256(f"key {i}".encode())),
        "groups": sorted(sha256(canonical([one["salt"], one["group"]])).hex() for one in openings),
        "since": f"2026-11-2{i % 4}T08:00:00.000Z",
        "salt": salt(f"entry {i}"),
    }
    return entry, openings


rosters = []
previous = None
for number, size in enumerate([1, 2, 3, 5, 8, 0, 13], start=1):
    made = sorted((make_entry(i) for i in range(size)), key=lambda pair: str(pair[0]["credential_id"]))
    leaves = [canonical(entry) for entry, _ in made]
    head = {
        "organization": ORGANIZATION,
        "number": number,
        "previous": previous,
        "size": size,
        "root": root(leaves).hex(),
        "changed_at": f"2026-11-24T08:00:{number:02}.000Z",
    }
    previous = sha256(canonical(head)).hex()
    members = [
        {"entry": entry, "index": i, "proof": [base64.b64encode(h).decode() for h in path(i, leaves)], "groups": openings}
        for i, (entry, openings) in enumerate(made)
    ]
    rosters.append({"head": head, "hash": previous, "members": members})

statement = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": "approver-roster", "digest": {"sha256": rosters[1]["hash"]}}],
    "predicateType": "https://countersign.dev/approver-roster/v1",
    "predicate": {
        "number": 2,
        "previous": rosters[0]["hash"],
        "changed_at": "2026-11-24T08:00:02.000Z",
        "organization": sha256(b"countersign roster v1\n" + ORGANIZATION.encode()).hex(),
        "key_id": "0123456789abcdef",
    },
}
file = {"rosters": rosters, "statement": canonical(statement).decode()}
Path(__file__).with_name("rosters.json").write_text(json.dumps(file, indent=2) + "\n")
