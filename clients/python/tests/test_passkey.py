"""Assertions that lib/protocol/passkey judges too (vectors/assertions.json): the same reason for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from countersign_client.verify import TrustedKeys, read_trust
from countersign_client.verify._authorization import check_authorization
from countersign_client.verify._passkey import ExpectedAssertion, approval_challenge, check_assertion

VECTORS: Any = json.loads(
    (Path(__file__).parents[3] / "lib/protocol/passkey/vectors/assertions.json").read_text()
)


def test_counts_no_world_id_for_a_required_group() -> None:
    """The signer may be the liar: two of finance are not anybody's two proofs of personhood."""
    released = Path(__file__).parents[3] / "public/vectors/1.0.0"
    given: Any = json.loads((released / "human-authorization.json").read_text())
    trust = read_trust((released / "keys.json").read_text(), TrustedKeys())
    named = {"group": "01990000-0000-7000-8000-000000000001", "count": given["request"]["approvals_required"]}

    def count_of(groups: list[Any]) -> tuple[str, str | None]:
        changed = {**given, "request": {**given["request"], "required_approvers": groups}}
        report = check_authorization(changed, trust)
        assert report is not None
        [check] = [check for check in report.checks if check.name == "approval_count"]
        return check.status, check.reason

    assert count_of([]) == ("pass", None)
    assert count_of([named]) == ("fail", "approval_count_mismatch")


def test_has_the_challenges_that_passkeys_sign() -> None:
    for decision, challenge in VECTORS["challenges"].items():
        assert approval_challenge(VECTORS["request_hash"], decision).hex() == challenge
    with pytest.raises(ValueError, match="32 bytes"):
        approval_challenge("00", "approve")


def expected_of(decision: str) -> ExpectedAssertion:
    return ExpectedAssertion(approval_challenge(VECTORS["request_hash"], decision), VECTORS["origin"], VECTORS["rp_id"])


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_judges_as_the_other_verifier_does(case: Any) -> None:
    found = check_assertion(case["assertion"], expected_of(case["decision"]))
    assert (found.status, found.reason) == ("pass" if case["reason"] is None else "fail", case["reason"])


@pytest.mark.parametrize("name", ["public_key", "authenticator_data", "client_data_json", "signature"])
def test_fails_on_every_changed_letter(name: str) -> None:
    for good in [case for case in VECTORS["cases"] if case["reason"] is None and case["decision"] == "approve"]:
        text = good["assertion"][name]
        for at in range(0, len(text), 3):
            changed = {**good["assertion"], name: f"{text[:at]}{'B' if text[at] != 'B' else 'C'}{text[at + 1:]}"}
            assert check_assertion(changed, expected_of("approve")).status == "fail"
