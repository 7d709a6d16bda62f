"""Compares this verifier's verdict on each case with the TypeScript one's (lib/verifier/python.process.mocks.test.ts
writes the cases).

A check that this one doesn't do must be named as such, and never makes a receipt better: then "valid" becomes
"incomplete", and a failure there is the only one that may be missing here. Prints each disagreement.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from countersign_client import UnreadableError
from countersign_client._facts import format_amount
from countersign_client._iso_time import is_time, parse_time, to_iso
from countersign_client._json import canonical_json, parse_strict
from countersign_client.verify import Report, TrustedKeys, check_chain, read_trust, verify, verify_pack, verify_record
from countersign_client.verify._ed25519 import find_key_fault, verify_strict

PACK_OPENS = ("attestations", "decisions", "record snapshot", "agent", "period", "rules", "derivations")
NOT_DONE_IN_PACKS = ("pairings", "time_stamps", "post_quantum")
NOT_DONE = {"pairing_not_checked", "post_quantum_not_checked", "time_stamp_not_checked"}


def compare_report(case: dict[str, Any]) -> str | None:
    try:
        trust = read_trust(case["keys"], TrustedKeys(**case.get("pins", {})))
        report = verify(case["receipt"], trust, now=case["now"])
    except UnreadableError as error:
        return None if case["verdict"] == "refused" else f"refused here: {error}"
    if case["verdict"] == "refused":
        return f"{report.verdict} here"
    if report.verdict == "invalid" and report.authorization_grade is not None:
        return f"{report.authorization_grade}, though it is invalid here"
    if not any(check.reason in NOT_DONE for check in report.checks):
        theirs = {name: case[name] for name in ("unproven", "warnings", "stated_warnings")}
        ours = {name: report.to_json()[name] for name in theirs}
        if ours != theirs:
            return f"{theirs}, {ours} here"
    if "invalid" not in (report.verdict, case["verdict"]) and report.facts != case["facts"]:
        return f"{case['facts']}, {report.facts} here"
    return compare_checks(report, case["verdict"], {check["name"]: check for check in case["checks"]})


def compare_checks(report: Report, verdict: str, expected: dict[str, dict[str, Any]]) -> str | None:
    not_done = {check.name for check in report.checks if check.reason in NOT_DONE}
    if "zk_proof" in not_done:
        # The service compares the proof's disclosures with the fields, and its credential with the payload.
        not_done.add("restated_fields")
    for check in report.checks:
        theirs = expected.pop(check.name, None)
        ours = {"status": check.status, "reason": check.reason}
        if theirs is None:
            return f"no check {check.name} there"
        if check.name not in not_done and ours != {"status": theirs["status"], "reason": theirs.get("reason")}:
            return f"{check.name}: {ours} here"
        if check.name in not_done and theirs["status"] == "fail":
            verdict = "excused"
    if expected:
        return f"without {', '.join(expected)} here"
    if verdict == "excused":
        return None if report.verdict in ("incomplete", "invalid", "erased") else f"{report.verdict} here"
    allowed = {verdict, "incomplete"} if not_done and verdict == "valid" else {verdict}
    return None if report.verdict in allowed and (report.verdict, bool(not_done)) != ("valid", True) else f"{report.verdict} here"


def compare_record(case: dict[str, Any]) -> str | None:
    try:
        trust = read_trust(case["keys"], TrustedKeys())
        report = verify_record(case["pages"], trust, receipts=case["receipts"], now=case["now"])
    except UnreadableError as error:
        return None if case["verdict"] == "refused" else f"refused here: {error}"
    if case["verdict"] == "refused":
        return f"{report.verdict} here"
    return compare_checks(report, case["verdict"], {check["name"]: check for check in case["checks"]})


def compare_pack(case: dict[str, Any]) -> str | None:
    trust = read_trust(case["keys"], TrustedKeys()) if case["keys"] else None
    report = verify_pack(base64.b64decode(case["pack"]), trust, evidence_only=True)
    # The other verifier compares it, this one names it.
    own = ("report", "verifier", *NOT_DONE_IN_PACKS)
    theirs = [check for check in case["checks"] if check["name"] not in own]
    ours = [asdict(check) for check in report.checks if check.name not in own]
    found, expected = (
        # Words about planted requests count too: they have the numbers, or one of many reasons.
        [(one["name"], one["status"], one.get("reason"), one["name"] == "planted requests" and one["detail"]) for one in checks]
        for checks in (ours, theirs)
    )
    failed = [[one[0] for one in checks if one[1] == "fail"][:1] for checks in (found, expected)]
    if case["is_changed"] and all(failed):
        # Both find the same fault first in a changed file. Each names in its own way what follows from a lost shape.
        return None if failed[0] == failed[1] and report.verdict == "invalid" else f"{failed} (here, there)"
    if found != expected:
        differing = [pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]]
        return f"{differing[:1] or (found[len(expected):], expected[len(found):])} (here, there)"
    # --cedar is the other one's alone.
    words = [(check.name, check.detail) for check in report.checks if check.status == "pass" and check.name not in (*own, "rules")]
    said = [(check["name"], check["detail"]) for check in theirs if check["status"] == "pass" and check["name"] != "rules"]
    if words != said:
        return f"{next(pair for pair in zip(words, said, strict=False) if pair[0] != pair[1])} (here, there)"
    if report.verdict != "invalid" and [one for one in report.warnings if not re.search(r", \d+ times?$", one)] != case["warnings"]:
        return f"{report.warnings} here, {case['warnings']} there"
    is_done = {check.name for check in report.checks}.isdisjoint(NOT_DONE_IN_PACKS)
    opens = [one for one in theirs if one["status"] == "not_applicable" and one["name"] in PACK_OPENS]
    is_failed = any(one["status"] in ("fail", "not_run") for one in theirs)
    verdict = "invalid" if is_failed else "incomplete" if opens or not is_done else "valid"
    return None if report.verdict == verdict else f"{report.verdict} here, {verdict} there"


def compare_chain(case: dict[str, Any]) -> str | None:
    try:
        report = check_chain(case["receipts"], [read_trust(keys, TrustedKeys()) for keys in case["keys"]])
    except UnreadableError as error:
        return None if case["verdict"] == "refused" else f"refused here: {error}"
    found = [(check.name, check.status, check.reason, check.detail) for check in report.checks]
    expected = [(check["name"], check["status"], check.get("reason"), check["detail"]) for check in case["checks"]]
    ours = (report.verdict, found, json.loads(json.dumps(report.to_json()["links"])))
    return None if ours == (case["verdict"], expected, case["links"]) else f"{ours} here"


def compare_signature(case: dict[str, Any]) -> str | None:
    parts = (bytes.fromhex(case[name]) for name in ("signature", "message", "key"))
    found = verify_strict(*parts)
    return None if found is case["ok"] else f"{found} here"


def compare_key(case: dict[str, Any]) -> str | None:
    fault = find_key_fault(bytes.fromhex(case["key"]))
    return None if fault == case["fault"] else f"{fault} here"


def compare_json(case: dict[str, Any]) -> str | None:
    try:
        found: str | None = canonical_json(parse_strict(case["text"]))
    except ValueError:
        found = None
    return None if found == case["canonical"] else f"{found} here"


def compare_amount(case: dict[str, Any]) -> str | None:
    found = format_amount(case["value"], case["currency"])
    return None if found == case["text"] else f"{found} here"


def compare_time(case: dict[str, Any]) -> str | None:
    found = is_time(case["text"])
    if found is not case["ok"]:
        return f"{found} here"
    read = parse_time(case["text"]) if found else case["ms"]
    written = to_iso(case["ms"])
    return None if (read, written) == (case["ms"], case["iso"]) else f"{read}, {written} here"


KINDS = {"amount": compare_amount, "chain": compare_chain, "pack": compare_pack, "receipt": compare_report, "record": compare_record, "signature": compare_signature, "key": compare_key, "json": compare_json, "time": compare_time}


def main(file: str) -> None:
    counted = {kind: 0 for kind in KINDS}
    for line in Path(file).read_text().rstrip("\n").split("\n"):
        case = json.loads(line)
        counted[case["kind"]] += 1
        found = KINDS[case["kind"]](case)
        if found is not None:
            print(f"{case['kind']} {case['name']}: {case.get('verdict', '')} {found}")
    print(json.dumps(counted))


if __name__ == "__main__":
    main(sys.argv[1])
