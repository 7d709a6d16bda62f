"""An evidence pack: everything that one agent or several did in a period, checked without a network (docs/wire.md, Evidence
pack). Not checked here: the bytes of the report and its CSVs, and the program in the pack. They are named in the
report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

from .._iso_time import parse_time
from .._json import JsonObject
from ..errors import UnreadableError
from ._attention import GroupDecision, judge_attention, read_group_decision
from ._derivation import Past, Standing, judge_derivations, read_past, read_standing
from ._outcome import Check, counted, fail, passed, skip
from ._pack_entry import Checked, Entry, check_entry, find_checkpoints, list_decided
from ._pack_log import Checkpoints
from ._pack_manifest import KEYS, LOG, PLANTED, ROWS, UNKNOWN, Facts, Pack, check_manifest, describe_pack, numbered, open_pack
from ._pack_rules import Ground, Ruled, judge_grounds, judge_ruled, list_derived, read_grounds, read_ruled
from ._pack_said import Said, judge_said, read_said
from ._pack_uses import UseFacts, judge_uses, read_use
from ._planted import judge_planted
from ._record import Held, check_record
from ._record_pages import read_page
from ._statement import UUID
from ._sum import Listed, SumSource, read_statement_list
from ._trust import Trust, TrustedKeys, read_trust

_DISORDER_MS = 60_000
"""Within it, requests that come at once may be recorded in another order than they came."""
_PER_PROCESS, _PER_TASK = 250, 50
"""So many entries are read while a process starts; and so few at once that a fault ends the run soon."""
_OPENS = ("attestations", "decisions", "record snapshot", "agent", "period", "rules", "derivations")
"""A pack with a gap in one of these is incomplete."""
_NOT_DONE = {
    "pairing_not_checked": "pairings",
    "time_stamp_not_checked": "time_stamps",
    "post_quantum_not_checked": "post_quantum",
}


@dataclass(frozen=True)
class PackReport:
    kind: Literal["pack"]
    verdict: Literal["valid", "invalid", "incomplete"]
    checks: list[Check]
    missing: list[str]
    """Checks that had nothing to read, or that this verifier doesn't do: because of them a pack is ``incomplete``."""
    warnings: list[str]
    """Bad news in a pack that holds."""
    agents: list[JsonObject]
    """Facts of each: the agent, the period, the numbers of its record, counts, and what the pack lacks; empty if a check failed."""
    pinned: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Seen:
    """A file's findings by itself, and the parts that the checks over all entries read."""

    entry: Entry
    checked: Checked
    attestation_id: object
    decided: list[tuple[int, bytes]]
    checkpoints: list[str]
    use: UseFacts
    said: Said
    ruled: Ruled | str | None
    grounds: list[Ground]
    past: Past | None
    standing: Standing | None
    group: GroupDecision | None


class _Reader:
    """Reads entries. A process has one; what it answers is plain data."""

    def __init__(self, pack: Pack, trust: Trust) -> None:
        self._pack, self._trust, self._notes = pack, trust, set[str]()

    def read(self, name: str) -> _Seen | str:
        """Answers the problem of a file that is no entry at all."""
        try:
            given = self._pack.read_json(name)
            entry, checked = check_entry(name, given, self._trust)
            notes = [note for note in dict.fromkeys(find_checkpoints(given)) if note not in self._notes]
            self._notes.update(notes)
            return _Seen(
                entry,
                checked,
                None if entry.is_decision else given.get("attestation_id"),
                [] if entry.is_decision else list_decided(given),
                notes,
                read_use(entry, given),
                read_said(entry, given),
                read_ruled(entry, given),
                read_grounds(entry, given),
                read_past(entry, given),
                read_standing(entry, given),
                read_group_decision(entry, given),
            )
        except (UnreadableError, ValueError) as error:
            return str(error)


_reader: _Reader | None = None


def _start(pack: Pack, trust: Trust) -> None:
    global _reader
    _reader = _Reader(pack, trust)


def _read_some(names: Sequence[str]) -> list[_Seen | str]:
    return [cast("_Reader", _reader).read(name) for name in names]


class _Readers:
    """Reads files in their order, in this process or in several."""

    def __init__(self, pack: Pack, trust: Trust, processes: int) -> None:
        entries = sum("attestations/" in name or "decisions/" in name for name in pack.files)
        count = min(processes, entries // _PER_PROCESS)
        self._here = _Reader(pack, trust)
        self._pool = None if count < 2 else ProcessPoolExecutor(count, initializer=_start, initargs=(pack, trust))

    def __enter__(self) -> _Readers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def read(self, names: Sequence[str]) -> Iterator[_Seen]:
        parts = [names[at : at + _PER_TASK] for at in range(0, len(names), _PER_TASK)]
        found = ([self._here.read(name)] for name in names) if self._pool is None else self._pool.map(_read_some, parts)
        for part in found:
            for one in part:
                if isinstance(one, str):
                    raise UnreadableError(one)
                yield one


@dataclass
class _Entries:
    """The entries of one agent, in their order."""

    seen: list[_Seen] = field(default_factory=list[_Seen])
    inside: list[Entry] = field(default_factory=list[Entry])
    before: Entry | None = None
    after: Entry | None = None
    hashes: dict[int, bytes] = field(default_factory=dict[int, bytes])
    held: dict[int, tuple[Held, object]] = field(default_factory=dict[int, tuple[Held, object]])
    """Number → what its signed payload says, and the attestation's id."""

    def add(self, file: str, one: _Seen) -> Check | None:
        """``file``: its name without the agent's folder. Answers the fault."""
        entry, checked, is_beside = one.entry, one.checked, "/" not in file
        name = "decisions" if entry.is_decision else "attestations"
        if checked.problem is not None:
            return fail("entry_invalid", file=file, problem=checked.problem).named(name)
        number = entry.sequence
        if not is_beside and file != numbered(name, max(number, 0)):
            return fail("entry_foreign", file=file).named(name)
        if checked.held is not None:
            self.held[number] = (checked.held, one.attestation_id)
        if self.hashes.setdefault(number, checked.payload_hash) != checked.payload_hash:
            return fail("entry_foreign", file=file).named(name)
        self.seen.append(one)
        if not is_beside:
            self.inside.append(entry)
        self.before = entry if file == "before.json" else self.before
        self.after = entry if file == "after.json" else self.after
        return None

    def describe(self, name: str, is_decision: bool) -> Check:
        own = [entry for entry in self.inside if entry.is_decision is is_decision]
        gone = sum(entry.is_hidden for entry in own)
        if gone:
            return skip("content_absent", entries=counted(gone, "entry", "entries")).named(name)
        return passed(f"{counted(len(own), name.removesuffix('s'))}, each verified").named(name)


def _list_files(pack: Pack) -> list[str]:
    """Puts those beside the period first."""
    inside = sorted([*pack.names_in("attestations"), *pack.names_in("decisions")], key=lambda name: name.split("/")[1])
    return [name for name in ("before.json", "after.json", "newest.json") if name in pack.files] + inside


def _follow_record(pack: Pack, found: _Entries, trust: Trust) -> list[Check]:
    """The record as the service answered it; every hash of the period must be the one that its file has."""
    listed, seen, pages = dict[int, bytes](), set[str](), list[JsonObject]()

    def read(folder: str, number: int) -> JsonObject:
        name = numbered(folder, number)
        seen.add(name)
        return pack.read_json(name)

    def read_rows() -> bytes | None:
        seen.add(ROWS)
        return pack.read(ROWS) if ROWS in pack.files else None

    def read_statements(number: int) -> JsonObject:
        return read("statements", number)

    newest: tuple[int, str | None] | None = None
    start = 1
    while True:
        pages.append(read("record", start))
        page, head = read_page(pages[-1]), read_page(pages[0]).head[0]
        listed |= {entry.sequence: entry.payload_hash for entry in page.entries}
        public = [(entry.sequence, entry.attestation_id) for entry in page.entries if entry.mark == "public"]
        newest = next((one for one in reversed(public) if one[0] <= head), newest)
        end = start + len(page.entries)
        if page.next is None or end > head or page.next != end or not page.entries:
            break
        start = end
    known = {number: held for number, (held, _) in found.held.items()}
    checks = check_record(pages, trust, (), None, known, SumSource(read_rows, read_statements))
    is_whole = all(check.status == "pass" for check in checks if check.name in ("entries", "head"))
    if is_whole and newest is not None and found.held.get(newest[0], (None, None))[1] != newest[1]:
        # The pages name another attestation than the one of this number.
        if "newest.json" not in pack.files and all(one.attestation_id != newest[1] for one in found.seen):
            return [fail("archive_unreadable", problem="newest.json is not there").named("record")]
        wrong = fail("record_entry_mismatch", number=newest[0])
        checks = [wrong.named(check.name) if check.name == "newest_signed" else check for check in checks]
    named = [check.named(f"record {check.name}") for check in checks if check.name not in ("counted", "receipts")]
    decided = [one for seen_entry in found.seen for one in seen_entry.decided]
    foreign = next((number for number, digest in [*found.hashes.items(), *decided] if listed.get(number) != digest), None)
    if foreign is not None:
        return [*named, fail("entry_foreign", file=f"number {foreign}").named("record files")]
    # After a fault, what follows it is unread.
    if any(check.status == "fail" for check in named):
        return named
    grounds = [ground for one in found.seen for ground in one.grounds]
    named.append(judge_grounds(grounds, read_statement_list(read_statements), trust).named("grounds"))
    unread = next((name for name in [*pack.names_in("record"), *pack.names_in("statements"), ROWS] if name in pack.files and name not in seen), None)
    return named if unread is None else [*named, fail("file_unknown", file=unread).named("record files")]


def _list_statements(pack: Pack) -> list[Listed] | Check:
    return read_statement_list(lambda number: pack.read_json(numbered("statements", number)))


def _judge_derivations(pack: Pack, seen: Sequence[_Seen], trust: Trust) -> list[Check]:
    """None for a pack without."""
    rules = [(name, pack.read_json(name)) for name in pack.names_in("rules")]
    derived = [(name, given) for name, given in rules if "derivation" in given]
    standing = [one.standing for one in seen if one.standing is not None]
    if not derived and not standing:
        return []
    logged = list_derived(_list_statements(pack), trust) if derived else set[tuple[str, str]]()
    past = [one.past for one in seen if one.past is not None]
    return [judge_derivations(derived, logged, standing, past).named("derivations")]


def _check_agent(found: _Entries, slug: str, is_shown: bool) -> Check:
    """The record's pages are unsigned, and they alone would name the agent."""
    beside = (found.before, *found.inside, found.after)
    slugs = [entry.slug for entry in beside if entry is not None and entry.slug is not None]
    other = next((one for one in slugs if one.lower() != slug.lower()), None)
    if other is not None:
        return fail("agent_foreign", slug=other)
    return passed(f"{counted(len(slugs), 'signed entry names', 'signed entries name')} it") if is_shown or slugs else skip("agent_unnamed")


def _check_period(found: _Entries, facts: Facts, period: tuple[str, str], is_counted: bool) -> Check:
    """Every number from the first to the last, those just outside are of other times, and if none comes after, a signed
    count that was made later ends with the last."""
    before, after = found.before, found.after
    numbers = [entry.sequence for entry in found.inside]
    wanted = range(facts.first, facts.last + 1)
    absent = next((number for at, number in enumerate(wanted) if numbers[at : at + 1] != [number]), None)
    if absent is not None:
        return fail("entry_absent", number=absent)
    if facts.last != UNKNOWN and len(numbers) > len(wanted):
        return fail("entry_foreign", file=found.inside[len(wanted)].file)
    start, end = map(parse_time, period)
    for entry in found.inside:
        if entry.time is not None and not start - _DISORDER_MS <= parse_time(entry.time) < end + _DISORDER_MS:
            return fail("period_padded", number=entry.sequence, time=entry.time)
    if start >= end or (before is not None and after is not None and before.sequence >= after.sequence):
        return fail("period_reversed")
    beside = [entry for entry in (before, after) if entry is not None]
    for entry in beside:
        if entry.time is not None and (entry.time >= period[0] if entry is before else entry.time < period[1]):
            return fail("period_cut", number=entry.sequence, time=entry.time)
    unknown = next((entry for entry in beside if entry.time is None), None)
    if unknown is not None:
        return skip("period_unproven", number=unknown.sequence)
    if after is None and not (is_counted and facts.shows_end(period[1])):
        return skip("period_not_counted", number=facts.last, to=period[1])
    if not numbers:
        return passed("no entry is of this period")
    return passed(f"numbers {facts.first} to {facts.last} of {facts.head}, none missing")


@dataclass(frozen=True)
class _Agent:
    slug: str
    checks: list[Check]
    facts: Facts | None = None
    """None after a fault that nothing can follow."""
    warnings: tuple[str, ...] = ()
    not_done: frozenset[str] = frozenset()
    used: Mapping[str, str] = field(default_factory=dict[str, str])
    """Hashes of the requests that its approvals are of, each with its organization."""
    shown_of: frozenset[str] = frozenset()
    """Organizations of decisions that are shown."""


def _check_agent_pack(pack: Pack, trust: Trust, checkpoints: Checkpoints, readers: _Readers) -> _Agent:
    found, period = _Entries(), pack.period
    files = _list_files(pack)
    page = pack.read_json(numbered("record", 1))
    for file, one in zip(files, readers.read([f"{pack.folder}{file}" for file in files]), strict=True):
        fault = found.add(file, one)
        if fault is None:
            added = checkpoints.add(one.entry.file, one.checkpoints)
            fault = None if added is None else added.named("log")
        if fault is not None:
            return _Agent(pack.folder, [fault])
    facts = describe_pack(pack, page, found.before, found.after, found.inside)
    foreign = checkpoints.add(f"{pack.folder}{numbered('record', 1)}", find_checkpoints(page))
    try:
        record = _follow_record(pack, found, trust)
    except (UnreadableError, ValueError) as error:
        record = [fail("archive_unreadable", problem=str(error)).named("record")]
    held = {check.name for check in record if check.status == "pass"}
    uses, warnings = judge_uses([one.use for one in found.seen])
    checks = [
        found.describe("attestations", False),
        found.describe("decisions", True),
        uses.named("uses"),
        judge_ruled([one.ruled for one in found.seen], pack.names_in("rules"), pack.read_json).named("rules"),
        *_judge_derivations(pack, found.seen, trust),
    ]
    if "attention.json" in pack.files:
        groups = [one.group for one in found.seen if one.group is not None]
        file = f"{pack.folder}attention.json"
        checks.append(judge_attention(file, pack.read_json("attention.json"), groups, period).named("attention"))
    checks += [
        judge_said([one.said for one in found.seen]).named("verdicts"),
        *record,
        _check_agent(found, facts.slug, "record newest_signed" in held).named("agent"),
        _check_period(found, facts, period, "record snapshot" in held).named("period"),
        *([] if foreign is None else [foreign.named("log")]),
    ]
    not_done = frozenset(reason for one in found.seen for reason in one.checked.not_done)
    approved = [one.use for one in found.seen if one.use.approval is not None]
    used = {one.request_hash: str(one.request["organization"]) for one in approved}
    shown = (str(one.request["organization"]) for one in approved if one.is_decision)
    shown_of = frozenset(one for one in shown if UUID.fullmatch(one) is not None)
    return _Agent(facts.slug, checks, facts, tuple(warnings), not_done, used, shown_of)


def _join(agents: Sequence[_Agent]) -> list[Check]:
    """A line for each check: the first agent's that failed, else that is open, else that it holds for every agent."""
    if len(agents) == 1:
        return agents[0].checks
    joined = list[Check]()
    for name in dict.fromkeys(check.name for agent in agents for check in agent.checks):
        all_of = [(agent, check) for agent in agents for check in agent.checks if check.name == name]
        bad = [pair for pair in all_of if pair[1].status in ("fail", "not_run")]
        worst = next(iter(bad or [pair for pair in all_of if pair[1].status == "not_applicable"]), None)
        if worst is None:
            joined.append(passed(f"holds for each of {len(agents)} agents").named(name))
        else:
            joined.append(replace(worst[1], detail=f"{worst[0].slug}: {worst[1].detail}"))
    return joined


def _find_repeated(facts: Sequence[Facts]) -> list[Check]:
    """Counted twice, its amounts would be too."""
    slugs, ids = [one.slug.lower() for one in facts], [one.agent_id for one in facts]
    repeated = next((slug for at, slug in enumerate(slugs) if slug in slugs[:at] or ids[at] in ids[:at]), None)
    return [] if repeated is None else [fail("agent_repeated", slug=repeated).named("agent")]


def _judge(
    checks: list[Check],
    agents: Sequence[_Agent],
    is_pinned: bool,
    evidence_only: bool = False,
    warnings: Sequence[str] = (),
) -> PackReport:
    facts = [agent.facts for agent in agents if agent.facts is not None]
    if not facts or any(check.status in ("fail", "not_run") for check in checks):
        return PackReport("pack", "invalid", checks, [], [], [], is_pinned)
    opens = {*_OPENS, *_NOT_DONE.values(), *(() if evidence_only else ("report", "verifier"))}
    missing = [check.name for check in checks if check.status == "not_applicable" and check.name in opens]
    said = [f"{agent.slug}: {one}" if len(agents) > 1 else one for agent in agents for one in agent.warnings]
    counts = [cast("JsonObject", one.fields["counts"])["warnings"] for one in facts]
    coded = [
        f"{one['code']}, {one['count']} {'time' if one['count'] == 1 else 'times'}"
        for rows in counts
        for one in cast("list[JsonObject]", rows)
    ]
    agent_facts = [one.fields for one in facts]
    return PackReport("pack", "incomplete" if missing else "valid", checks, missing, [*coded, *said, *warnings], agent_facts, is_pinned)


def _check_planted(pack: Pack, agents: Sequence[_Agent], trust: Trust) -> tuple[list[Check], list[str]]:
    """None for a pack without, unless the log has a schedule of an organization whose decisions it shows."""
    # After a fault, the statements may be unreadable too.
    is_failed = any(check.status == "fail" for agent in agents for check in agent.checks)
    shown_of = [] if is_failed else sorted({one for agent in agents for one in agent.shown_of})
    if PLANTED not in pack.files and not shown_of:
        return [], []
    used = {name: organization for agent in agents for name, organization in agent.used.items()}
    listed = _list_statements(pack)
    counted = max((agent.facts.counted_at for agent in agents if agent.facts is not None), default="")
    if PLANTED in pack.files:
        check, warnings = judge_planted(pack.read_json(PLANTED), listed, trust, pack.period, used, counted)
        return [check.named("planted requests")], warnings
    none: list[JsonObject] = [{"version": 1, "organization": one, "schedules": []} for one in shown_of]
    checks = (judge_planted(one, listed, trust, pack.period, used, counted)[0] for one in none)
    return [check.named("planted requests") for check in checks if check.status == "fail"][:1], []


def _check_open(pack: Pack, opened: list[Check], given: Trust | None, evidence_only: bool, processes: int) -> PackReport:
    trust = given or read_trust(pack.read_json(KEYS), TrustedKeys())
    checkpoints = Checkpoints(trust)
    agents = list[_Agent]()
    with _Readers(pack, trust, processes) as readers:
        for own in pack.split():
            agents.append(_check_agent_pack(own, trust, checkpoints, readers))
            if agents[-1].facts is None:
                return _judge([*opened, *_join(agents)], [], given is not None)
    facts = [agent.facts for agent in agents if agent.facts is not None]
    log = pack.read_json(LOG)
    not_done = sorted({reason for agent in agents for reason in agent.not_done})
    planted, warnings = _check_planted(pack, agents, trust)
    checks = [
        *opened,
        *_join(agents),
        *_find_repeated(facts),
        *planted,
        (checkpoints.add(LOG, find_checkpoints(log)) or checkpoints.judge(log)).named("log"),
        check_manifest(pack, facts).named("manifest"),
        *(skip(reason).named(_NOT_DONE[reason]) for reason in not_done),
        skip("report_not_checked").named("report"),
        skip("verifier_not_checked").named("verifier"),
    ]
    return _judge(checks, agents, given is not None, evidence_only, warnings)


def verify_pack(
    archive: bytes, trust: Trust | None = None, *, evidence_only: bool = False, processes: int = 1
) -> PackReport:
    """An evidence pack → report. No network and no clock.

    ``trust``: keys that you have from elsewhere; None: those of the pack, which are its maker's word. ``evidence_only``:
    judge the evidence alone. Without it a pack is at best ``incomplete``, since its report.html, its CSVs and its
    verify.mjs are not compared here: who reads them has them checked by verify.mjs. ``processes``: among which the
    entries are shared; with more than one, call this under ``if __name__ == "__main__":``.
    """
    checks, pack = open_pack(archive)
    if pack is None:
        return _judge(checks, [], trust is not None)
    try:
        return _check_open(pack, checks, trust, evidence_only, processes)
    except (UnreadableError, ValueError) as error:
        fault = fail("archive_unreadable", problem=str(error)).named("content")
        return _judge([*checks, fault], [], trust is not None)
