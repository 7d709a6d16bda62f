"""Result of a check. Anything but a plain pass has a reason for programs; ``detail`` is for people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ._reasons import REASONS

Status = Literal["pass", "fail", "not_applicable", "not_run"]


@dataclass(frozen=True)
class Check:
    name: str
    status: Status
    reason: str | None
    detail: str
    is_missing: bool = False
    """The receipt does not carry what the check reads."""

    def named(self, name: str) -> Check:
        return replace(self, name=name)


_OWN = {
    "pairing_not_checked": "its zero-knowledge proof is checked by verify.mjs, not by this verifier",
    "post_quantum_not_checked": "its signature by ML-DSA-44 is checked with a newer cryptography package, or by verify.mjs",
    "report_not_checked": "report.html, report.csv and requirements.csv are compared by verify.mjs, not by this verifier",
    "verifier_not_checked": "verify.mjs in the pack isn't compared: before you run it, compare its SHA-256 with the published one",
    "time_stamp_not_checked": "its time stamp or drand round is checked by verify.mjs, not by this verifier",
}


def explain(reason: str, **values: object) -> str:
    text = _OWN.get(reason) or REASONS[reason]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def counted(number: int, one: str, many: str = "") -> str:
    """"1 attestation", "2,000 attestations"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def passed(detail: str) -> Check:
    return Check("", "pass", None, detail)


def fail(reason: str, **values: object) -> Check:
    return Check("", "fail", reason, explain(reason, **values))


def skip(reason: str, **values: object) -> Check:
    return Check("", "not_applicable", reason, explain(reason, **values))


def not_run() -> Check:
    return replace(skip("earlier_check_failed"), status="not_run")


def miss(reason: str, **values: object) -> Check:
    return replace(skip(reason, **values), is_missing=True)
