"""``python -m countersign_client verify``: the verifier on the command line, with the exit codes of ``verify.mjs``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from .._json import JsonObject, is_list, is_object, parse_strict
from .._session import http_options
from ..errors import UnreadableError
from . import Check, Report, Trust, TrustedKeys, read_trust, verify, verify_pack, verify_record
from ._chain import ChainReport, check_chain
from ._outcome import counted
from ._pack import PackReport
from ._reading import MAX_CHARACTERS
from ._record import is_record
from ._statement import UUID
from ._zip import MAX_BYTES

_EXIT_CODES = {"valid": 0, "invalid": 1, "incomplete": 3, "erased": 3}
_UNREADABLE, _WARNED, _UNREACHABLE = 2, 4, 7
_EPILOG = """exit codes: 0 authentic; 1 a check failed; 2 wrong usage or unreadable input; 3 nothing failed, but the file does
not carry everything, or carries a zero-knowledge proof, which verify.mjs checks; 4 with --fail-on-warnings: no check
failed, but there is a warning; 7 the service could not be reached"""
_USAGE = """python -m countersign_client verify <id | url | file | -> [options]
       python -m countersign_client verify record FILE [--receipt FILE]... [options]
       python -m countersign_client verify pack FILE.zip [options]
       python -m countersign_client verify chain FILE... --keys FILE..."""
_TITLES = {
    "valid": "Authentic. Every check passed.",
    "invalid": "Not authentic. A check failed: do not rely on anything in it.",
    "incomplete": "Authentic as far as it can be checked here.",
    "erased": "Erased. The owner erased the content; the log proves that it was recorded.",
}


_RECORD_TITLES = {
    "valid": "The record is complete, up to its last signed count.",
    "invalid": "The record does NOT hold. A check failed: do not rely on anything in it.",
    "incomplete": "Nothing failed, but not all of it is counted or signed here.",
}


_PACK_TITLES = {
    "valid": "The pack holds: nothing of its period is missing.",
    "invalid": "The pack does NOT hold. A check failed: do not rely on anything in it.",
    "incomplete": "Nothing failed, but the pack does not carry everything, or not all of it was checked here.",
}
_CHAIN_TITLES = {
    "valid": "The chain holds, to its beginning.",
    "invalid": "The chain does NOT hold.",
    "incomplete": "Nothing failed, but the files don't show the whole chain.",
}


class UnreachableError(UnreadableError):
    pass


class UsageError(Exception):
    pass


@dataclass(frozen=True)
class Source:
    text: str
    base: str | None
    attestation_id: str | None = None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m countersign_client verify", usage=_USAGE, epilog=_EPILOG)
    parser.add_argument("receipt", help="an id, an address, a file, or - for standard input; a record, all its pages in one JSON list")
    parser.add_argument("more", nargs="*", metavar="receipt", help="of a chain: the receipts by whose authority the first acted")
    parser.add_argument("--keys", action="append", default=[], metavar="FILE", help="a saved response of GET /v1/pubkey; no key is fetched; of a chain: one of each instance")
    parser.add_argument("--key", action="append", default=[], help="an attestation key: PEM, a PEM file, or base64")
    parser.add_argument("--log-vkey", action="append", default=[], help="the log's C2SP verifier key")
    parser.add_argument("--witness", action="append", default=[], help="a witness whose clock you trust")
    parser.add_argument("--base", help="the service, for a bare id, or for the keys of a file")
    parser.add_argument("--payload", metavar="FILE", help="the payload that the file must match")
    parser.add_argument("--receipt", dest="held", action="append", default=[], metavar="FILE", help="a receipt that a record must have")
    parser.add_argument("--as-owner", action="store_true", help="send COUNTERSIGN_API_KEY, to see your private ones")
    parser.add_argument("--evidence-only", action="store_true", help="of a pack: its report.html, CSVs and verify.mjs, which are not compared here, are not used")
    parser.add_argument("--processes", type=int, default=0, metavar="N", help="of a pack: default one for each processor")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--fail-on-warnings", action="store_true")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    # Same as verify.mjs: a record says so itself.
    word = given.pop(0) if given[:1] in (["record"], ["pack"], ["chain"]) else ""
    args = _parser().parse_args(given)
    try:
        return {"pack": _run_pack, "chain": _run_chain}.get(word, _run)(args)
    except Exception as error:  # noqa: BLE001
        # Python itself would end with 1, which says that a check failed.
        print(f"verify: {_visible(str(error))}", file=sys.stderr)
        return _UNREACHABLE if isinstance(error, UnreachableError) else _UNREADABLE


def _read_pins(args: argparse.Namespace) -> TrustedKeys:
    if len(args.keys) > 1 or args.more:
        raise UsageError("several files: only chain takes more than one, and several --keys")
    return TrustedKeys(
        pubkey=_read_file(args.keys[0]) if args.keys else None,
        keys=[_read_key(key) for key in args.key],
        log_vkeys=args.log_vkey,
        witness_vkeys=args.witness,
    )


def _run_pack(args: argparse.Namespace) -> int:
    pinned = _read_pins(args)
    is_pinning = pinned.is_pinned or bool(args.log_vkey or args.witness)
    trust = _find_trust(pinned, None if args.base is None else _trim(args.base)) if is_pinning else None
    # A pack larger than its files may be inflated is none, and not read.
    if Path(args.receipt).stat().st_size > MAX_BYTES:
        raise UnreadableError(f"{args.receipt}: larger than {MAX_BYTES} bytes")
    archive = Path(args.receipt).read_bytes()
    processes = args.processes or os.cpu_count() or 1
    report = verify_pack(archive, trust, evidence_only=args.evidence_only, processes=processes)
    report = replace(report, pinned=pinned.is_pinned)
    print(json.dumps(report.to_json(), indent=2) if args.json else _describe_pack(report))
    code = _EXIT_CODES[report.verdict]
    return _WARNED if code != 1 and report.warnings and args.fail_on_warnings else code


def _run_chain(args: argparse.Namespace) -> int:
    """Without a network: a chain may lead through instances that are gone."""
    if not args.keys:
        raise UsageError("chain needs --keys FILE, one of each instance")
    trusts = [read_trust(_read_file(name), TrustedKeys()) for name in args.keys]
    report = check_chain([_read_file(name) for name in (args.receipt, *args.more)], trusts)
    print(json.dumps(report.to_json(), indent=2) if args.json else _describe_chain(report))
    is_warned = any(link.warnings for link in report.links)
    code = _EXIT_CODES[report.verdict]
    return _WARNED if code != 1 and is_warned and args.fail_on_warnings else code


def _run(args: argparse.Namespace) -> int:
    pinned = _read_pins(args)
    source = _read_source(args)
    payload = None if args.payload is None else Path(args.payload).read_bytes()
    trust = _find_trust(pinned, source.base)
    pages = _read_record(source.text)
    if pages is None and args.held:
        raise UnreadableError("no record, where one was asked for")
    if pages is not None and (source.attestation_id is not None or payload is not None):
        raise UnreadableError("a record, where an attestation was asked for")
    if pages is None:
        report = verify(source.text, trust, attestation_id=source.attestation_id, payload=payload, now=int(time.time()))
    else:
        report = verify_record(pages, trust, receipts=[_read_file(name) for name in args.held], now=time.time())
    report = replace(report, pinned=pinned.is_pinned)
    print(json.dumps(report.to_json(), indent=2) if args.json else _describe(report))
    code = _EXIT_CODES[report.verdict]
    is_warned = len(report.warnings) + len(report.stated_warnings) > 0
    return _WARNED if code != 1 and is_warned and args.fail_on_warnings else code


def _read_record(text: str) -> list[JsonObject] | None:
    """The pages of a record: one answer, or a list of all of them."""
    try:
        value = parse_strict(text, MAX_CHARACTERS)
    except ValueError:
        return None
    pages = value if is_list(value) else [value]
    objects = [page for page in pages if is_object(page) and is_record(page)]
    return objects if objects and len(objects) == len(pages) else None


def _find_trust(pinned: TrustedKeys, base: str | None) -> Trust:
    answer = pinned.pubkey
    if answer is None and base is not None:
        answer = _fetch(f"{base}/v1/pubkey")
    if answer is None and not (pinned.keys and pinned.log_vkeys):
        raise UsageError("no keys to trust: give --keys, or --key and --log-vkey, or --base to ask the service")
    return read_trust(answer, pinned)


def _read_source(args: argparse.Namespace) -> Source:
    target: str = args.receipt
    base = None if args.base is None else _trim(args.base)
    if re.match("https?://", target, re.IGNORECASE):
        return _read_url(target, base, args.as_owner)
    if target == "-":
        return Source(_decode(sys.stdin.buffer.read(), "-"), base)
    if Path(target).is_file():
        return Source(_read_file(target), base)
    if UUID.fullmatch(target.lower()) is None:
        raise UnreadableError(f"{target}: no such file, and not an id")
    if base is None:
        raise UsageError("an id alone needs --base, the address of the service")
    return _read_url(f"{base}/v1/verify/{target}", base, args.as_owner)


def _read_url(url: str, base: str | None, as_owner: bool) -> Source:
    """The API's address, the page's, or any other from which one of the files can be had."""
    address = re.split(r"[?#]", _trim(url))[0].rstrip("/")
    api = re.fullmatch(r"(.*)/v1/verify/([^/]+)(?:/[a-z-]+)?", address)
    page = None if api else re.fullmatch(r"(.*)/verify/[^/]+/([^/]+)", address)
    found = api or page
    source = f"{page[1]}/v1/verify/{page[2]}" if page else url
    name = found[2].lower() if found else ""
    # A tlog-proof doesn't say whose leaf it is.
    asked = name if UUID.fullmatch(name) and not address.endswith("/tlog-proof") else None
    return Source(_fetch(source, as_owner), base or (found[1] if found else None), asked)


def _trim(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(f"{url}: only http and https")
    return url.rstrip("/")


def _fetch(url: str, as_owner: bool = False) -> str:
    # Only when asked for: the address may be a stranger's.
    key = os.environ.get("COUNTERSIGN_API_KEY") if as_owner else None
    if as_owner and key is None:
        raise UsageError("--as-owner needs COUNTERSIGN_API_KEY")
    try:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        response = httpx2.get(url, headers=headers, timeout=30, **http_options(url))
    except httpx2.HTTPError as error:
        raise UnreachableError(f"{url}: could not be fetched: {error}") from error
    if response.status_code in (429, 503):
        raise UnreachableError(f"{url}: HTTP {response.status_code}")
    if response.status_code != 200:
        raise UnreadableError(f"{url}: HTTP {response.status_code}")
    return _decode(response.content, url)


def _read_file(name: str) -> str:
    try:
        return _decode(Path(name).read_bytes(), name)
    except OSError as error:
        raise UnreadableError(f"{name}: {error.strerror}") from error


def _read_key(key: str) -> str:
    return _read_file(key) if "-----" not in key and Path(key).is_file() else key


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnreadableError(f"{name}: not UTF-8") from None


def _visible(text: str) -> str:
    """A receipt may hold terminal escapes, and letters that turn the line around."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


_TEST_HEADING = "TEST. This was decided on a TEST instance and shows nothing about a real person."
_WORDS = {"pass": "pass", "fail": "FAIL", "not_applicable": "n/a", "not_run": "-"}


def _word(check: Check) -> str:
    """There is something to check, and this verifier can't: that is no "n/a"."""
    return "not checked" if (check.reason or "").endswith("_not_checked") else _WORDS[check.status]


def _list_checks(checks: Sequence[Check]) -> list[str]:
    return [f"  {_word(check):<11}  {check.name:<22}  {_visible(check.detail)}" for check in checks]


def _describe_pack(report: PackReport) -> str:
    lines = [*_list_checks(report.checks), ""]
    for facts in report.agents:
        agent, period, counts = (json.loads(json.dumps(facts[name])) for name in ("agent", "period", "counts"))
        total = counted(counts["attestations"]["total"], "attestation"), counted(counts["decisions"]["total"], "decision")
        lines.append(_visible(f"{agent['slug']}, {period['from']} to {period['to']}: {', '.join(total)}"))
    lines += [f"Warning: {_visible(one)}" for one in report.warnings]
    if report.missing:
        lines.append(f"Not checked: {', '.join(report.missing)}.")
    if not report.pinned:
        lines.append("Keys: NOT pinned. They came with the pack: compare keys.json with the keys that you know.")
    return "\n".join([*lines, _PACK_TITLES[report.verdict]])


def _describe_chain(report: ChainReport) -> str:
    lines = [*_list_checks(report.checks), ""]
    for at, link in enumerate(report.links):
        words = f"{link.agent_slug} ({link.origin}): {link.action or 'private'}"
        lines.append(_visible(words if at == 0 else f"by authority of {words}"))
    is_warned = any(link.warnings for link in report.links)
    title = f"{_CHAIN_TITLES[report.verdict]}{' Read it with the warnings above.' if is_warned else ''}"
    return "\n".join([*lines, title])


def _describe(report: Report) -> str:
    lines = [_TEST_HEADING, ""] if any(one.code == "approval_test" for one in report.warnings) else []
    facts = [f"{fact['label'].lower():<12} {_visible(fact['text'])}" for fact in report.facts]
    lines += [*facts, ""] if facts else []
    lines += _list_checks(report.checks)
    lines += [f"Warning: {_visible(one.message)} [{one.code}]" for one in report.warnings]
    lines += [f"Warning: {code} (The service says so. Nothing in this file shows it.)" for code in report.stated_warnings]
    if report.unproven:
        lines.append(f"Shown in the file, but proven by nothing in it: {', '.join(report.unproven)}.")
    if report.missing:
        lines.append(f"Not checked: {', '.join(report.missing)}.")
    if not report.pinned:
        lines.append("Keys: NOT pinned. They came from the service: this shows only that it agrees with itself.")
    title = _TITLES[report.verdict] if report.kind != "record" else _RECORD_TITLES[report.verdict]
    if report.verdict == "valid" and any(check.reason == "payload_not_given" for check in report.checks):
        title = "Authentic. The log has this leaf; whether it is your payload's was not compared."
    warned = len(report.warnings) + len(report.stated_warnings)
    if report.verdict == "valid" and warned > 0:
        count = "1 warning" if warned == 1 else f"{warned} warnings"
        title = f"Authentic, {count}. No check failed. Read what it says with its warnings."
    return "\n".join([*lines, title])
