"""The manifest of an evidence pack: which files there are, and what follows from them (docs/wire.md, Evidence pack). Only
the period is its maker's word; everything else is made again and compared."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .._iso_time import parse_time
from .._json import Json, JsonObject, is_list, is_object
from ..errors import UnreadableError
from ._bytes import base64_decode, sha256
from ._dsse import require_string
from ._outcome import Check, counted, fail, passed
from ._pack_entry import Entry
from ._reading import is_count, read_object
from ._snapshot import parse_heads
from ._sum import ROW_BYTES
from ._warnings import WARNINGS
from ._zip import ArchiveError, Packed, read_archive

MANIFEST, KEYS, LOG, ROWS, PLANTED = "manifest.json", "keys.json", "log.json", "agent-heads.bin", "planted.json"
_SINCE_2 = ("report.csv", "requirements.csv")
_REQUIRED = (KEYS, LOG, "verify.mjs", "report.html")
_FIXED = {MANIFEST, ROWS, PLANTED, *_REQUIRED, *_SINCE_2}
_OWN = re.compile(r"(?:(?:record|attestations|decisions|rules)/[0-9]{12}|before|after|newest|attention)\.json")
_FOLDER = re.compile(r"agents/[0-9]{12}/")
_STATEMENTS = re.compile(r"statements/[0-9]{12}\.json")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def numbered(folder: str, number: int) -> str:
    return f"{folder}/{number:012}.json"


def _is_pack_file(name: str) -> bool:
    own = _FOLDER.match(name)
    rest = name[own.end() :] if own else name
    return name in _FIXED or _STATEMENTS.fullmatch(name) is not None or _OWN.fullmatch(rest) is not None


@dataclass(frozen=True)
class Pack:
    """The files of one agent, and those of all."""

    archive: bytes
    files: Mapping[str, Packed]
    """Keyed by names without the agent's folder."""
    manifest: JsonObject
    described: list[JsonObject] = field(default_factory=list[JsonObject])
    """Every other file as the manifest has to name it, in order."""
    folder: str = ""

    def read(self, name: str) -> bytes:
        if name not in self.files:
            raise ArchiveError(f"{name} is not there")
        return self.files[name].inflate(self.archive)

    def read_json(self, name: str) -> JsonObject:
        return parse_file(name, self.read(name))

    def names_in(self, folder: str) -> list[str]:
        return sorted(name for name in self.files if name.startswith(f"{folder}/"))

    @property
    def period(self) -> tuple[str, str]:
        period = self.manifest.get("period")
        times = [period.get(name) for name in ("from", "to")] if is_object(period) else []
        found = [one for one in times if isinstance(one, str) and _TIME.fullmatch(one)]
        if len(found) != 2:
            raise UnreadableError("manifest.json: period: expected two times")
        return found[0], found[1]

    def split(self) -> list[Pack]:
        """The pack as each of its agents has it."""
        folders = sorted({own[0] for name in self.files if (own := _FOLDER.match(name))})
        shared = {name: one for name, one in self.files.items() if not name.startswith("agents/")}

        def of(folder: str) -> Pack:
            own = {name[len(folder) :]: one for name, one in self.files.items() if name.startswith(folder)}
            return Pack(self.archive, {**shared, **own}, self.manifest, self.described, folder)

        return [of(folder) for folder in folders] or [self]


def parse_file(name: str, content: bytes) -> JsonObject:
    try:
        return read_object(content.decode())
    except (UnreadableError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{name}: {error}") from None


def _find_foreign(files: Mapping[str, Packed], manifest: JsonObject) -> Check | None:
    """Compares names and lengths, before a file is inflated."""
    version, listed = manifest.get("version"), manifest.get("files")
    is_known = manifest.get("type") == "countersign-evidence-pack" and version in (1, 2) and not isinstance(version, bool)
    if not is_known or not is_list(listed) or not all(map(is_object, listed)):
        return fail("manifest_unreadable", problem="not that of an evidence pack of version 1 or 2")
    lengths = {str(one.get("name")): one.get("length") for one in listed if is_object(one)}
    changed = next((name for name, one in files.items() if name != MANIFEST and lengths.get(name) != one.size), None)
    if changed is not None:
        return fail("file_changed", file=changed)
    missing = next((name for name in [*lengths, *_REQUIRED, *(_SINCE_2 if version == 2 else ())] if name not in files), None)
    if missing is not None:
        return fail("file_missing", file=missing)
    folders = {own[0] for name in files if (own := _FOLDER.match(name))}

    def is_stray(name: str) -> bool:
        """True if it belongs to none of the agents, or packs of version 1 don't have it."""
        is_misplaced = _OWN.fullmatch(name) is not None or (len(folders) == 1 and name.startswith("agents/"))
        return (bool(folders) and is_misplaced) or (version == 1 and (bool(folders) or name in _SINCE_2))

    stray = next(filter(is_stray, files), None)
    return None if stray is None else fail("file_unknown", file=stray)


def open_pack(archive: bytes) -> tuple[list[Check], Pack | None]:
    """Checks ``archive`` and ``files``: not a byte besides the files, and each is the one that the manifest names."""
    try:
        files = read_archive(archive)
        checks = [passed(f"{counted(len(files), 'file')}, and not a byte besides").named("archive")]
        unknown = next((name for name in files if not _is_pack_file(name)), None)
        if unknown is not None:
            return [*checks, fail("file_unknown", file=unknown).named("files")], None
        pack = Pack(archive, files, {})
        manifest = pack.read_json(MANIFEST)
        foreign = _find_foreign(files, manifest)
        if foreign is not None:
            return [*checks, foreign.named("files")], None
        contents = ((name, pack.read(name)) for name in files if name != MANIFEST)
        described: list[JsonObject] = [
            {"name": name, "sha256": sha256(content).hex(), "length": len(content)} for name, content in contents
        ]
    except UnreadableError as error:
        return [fail("archive_unreadable", problem=str(error)).named("archive")], None
    listed = manifest["files"]
    # With repr, since True is 1 by ==.
    named = {str(one["name"]): repr(one) for one in listed if is_object(one)} if is_list(listed) else {}
    changed = next((one["name"] for one in described if named.get(str(one["name"])) != repr(one)), None)
    if changed is not None:
        return [*checks, fail("file_changed", file=changed).named("files")], None
    checks.append(passed("each has the SHA-256 and length of the manifest").named("files"))
    return checks, Pack(archive, files, manifest, described)


UNKNOWN = -1


@dataclass(frozen=True)
class Facts:
    """Facts that follow from an agent's files; ``fields`` as the manifest has them."""

    slug: str
    agent_id: str
    first: int
    last: int
    """``UNKNOWN`` if no number follows from the record's page."""
    head: int
    counted: int | None
    """Entries that the newest snapshot counts, and when."""
    counted_at: str
    fields: JsonObject

    def shows_end(self, to: str) -> bool:
        """An entry after the period, or a signed count of a later time, shows where it ends."""
        return self.last < self.head or (self.counted == self.head and parse_time(self.counted_at) >= parse_time(to))


def _read_counted(page: JsonObject) -> JsonObject | None:
    """Reads the newest snapshot, as the record shows it: unchecked here."""
    snapshot = page.get("snapshot")
    statement = snapshot.get("statement") if is_object(snapshot) else None
    payload = statement.get("payload") if is_object(statement) else None
    heads = parse_heads(payload.encode(errors="replace")) if isinstance(payload, str) else None
    if not is_object(snapshot) or heads is None:
        return None
    row = base64_decode(require_string(snapshot.get("row")))
    entries = int.from_bytes(row[32:40], "big")
    if len(row) != ROW_BYTES or not 1 <= entries or not is_count(entries):
        raise ValueError("not the row of a snapshot")
    return {"entries": entries, **{name: heads[name] for name in ("log_origin", "covers_size", "at")}}


def _count(entries: Sequence[Entry]) -> JsonObject:
    attestations = Counter(entry.state for entry in entries if not entry.is_decision)
    decided = Counter(entry.decision for entry in entries if entry.is_decision)
    approvals = [entry.approval for entry in entries if entry.approval is not None]
    methods = Counter(str(one["method"]) for one in approvals)
    names = ("environment", "method", "level")
    backed = Counter(tuple(str(one[name]) for name in names) for one in approvals if one["method"] not in ("none", "hash"))
    warnings = Counter(code for entry in entries for code in entry.warnings)
    rows: list[Json] = [
        {"method": method, "level": level, "environment": environment, "count": count}
        for (environment, method, level), count in sorted(backed.items(), key=lambda one: json.dumps(one[0]))
    ]
    return {
        "entries": len(entries),
        "attestations": {
            "total": attestations.total(),
            **{state: attestations[state] for state in ("public", "private", "withheld", "erased")},
        },
        "approvals": {"none": methods["none"], "asserted": methods["hash"], "backed": rows},
        "decisions": {
            "total": decided.total(),
            **{name: decided[name] for name in ("approved", "denied", "cancelled")},
            "revoked": decided["authorization_revoked"],
            **{name: decided[name] for name in ("frozen", "unfrozen")},
            "erased": decided[None],
        },
        "warnings": [{"code": code, "count": warnings[code]} for code in WARNINGS if warnings[code]],
    }


_NEVER_IN: tuple[JsonObject, ...] = (
    {"what": "requests that expired or wait", "why": "nothing is signed until a person decides"},
    {"what": "reasons given for denials", "why": "they are not signed"},
    {"what": "details and names on approval pages", "why": "only their hash is signed; the organization keeps them"},
)


def describe_pack(
    pack: Pack, page: JsonObject, before: Entry | None, after: Entry | None, entries: Sequence[Entry]
) -> Facts:
    """``page``: the first of the record. Raises ValueError for one that is not of the service's making."""
    head = page.get("head")
    number = head.get("sequence", "") if is_object(head) else ""
    last = number if isinstance(number, int) else 0 if number is None else UNKNOWN
    counted = _read_counted(page)
    first_number = 1 if before is None else before.sequence + 1
    last_number = last if after is None else after.sequence - 1
    slug, agent_id = str(page.get("slug")), str(page.get("agent_id"))
    erased, withheld = (sum(entry.state == state for entry in entries) for state in ("erased", "withheld"))
    left_out = list[Json]()
    if erased:
        left_out.append({"what": "content of entries", "why": "erased by the owner", "count": erased})
    if withheld:
        why = "kept out by whoever made the pack"
        left_out.append({"what": "content of private entries", "why": why, "count": withheld})
    if counted is not None and ROWS not in pack.files:
        left_out.append({"what": "rows of the count of all records", "why": "too many, or no longer kept"})
    fields: JsonObject = {
        "agent": {"slug": slug, "agent_id": agent_id},
        "period": {"from": pack.period[0], "to": pack.period[1]},
        "record": {"first": first_number, "last": last_number, "head": last, "counted": counted},
        "counts": _count(entries),
        "left_out": [*left_out, *_NEVER_IN],
    }
    covered = None if counted is None else counted["entries"]
    counted_at = "" if counted is None else str(counted["at"])
    return Facts(
        slug, agent_id, first_number, last_number, last, covered if isinstance(covered, int) else None, counted_at, fields
    )


def _write(manifest: JsonObject, files: Sequence[JsonObject]) -> str:
    """Encodes JSON, with the files, which are most of it, by the encoder in C: Python's own, which indents, takes ten times as long."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",\n      ", ": ")).encode
    listed = ",\n".join(f"    {{\n      {encode(one)[1:-1]}\n    }}" for one in files)
    text = json.dumps({**manifest, "files": []}, indent=2, ensure_ascii=False)
    return text.replace('"files": []', f'"files": [\n{listed}\n  ]') + "\n"


def check_manifest(pack: Pack, found: Sequence[Facts]) -> Check:
    """``pack``: the whole. ``found``: of each agent, in the order of their folders."""
    own: JsonObject = {"type": pack.manifest["type"], "version": pack.manifest["version"]}
    if len(found) == 1:
        own |= found[0].fields
    else:
        own["period"] = found[0].fields["period"]
        own["agents"] = [
            {"folder": f"agents/{number:012}/", **{name: one for name, one in facts.fields.items() if name != "period"}}
            for number, facts in enumerate(found, 1)
        ]
    own["files"] = [*pack.described]
    if _write(own, pack.described).encode() == pack.read(MANIFEST):
        return passed("it says what follows from the files")
    field_name = next((name for name in own if json.dumps(own[name]) != json.dumps(pack.manifest.get(name))), "order or spelling")
    return fail("manifest_mismatch", field=field_name)
