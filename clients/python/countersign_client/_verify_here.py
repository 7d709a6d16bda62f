"""``client.verify``: what it needs of the service, as text: what a parser would pass over in silence is refused here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ._flow import Flow
from ._transport import Request, Service, send
from .verify import Report, TrustedKeys, read_trust, verify
from .verify._statement import UUID


def verify_flow(service: Service, receipt: str | Mapping[str, Any], keys: TrustedKeys, now: int) -> Flow[Report]:
    is_id = isinstance(receipt, str) and UUID.fullmatch(receipt.lower()) is not None
    evidence = (yield from send(service, Request("GET", f"/v1/verify/{receipt}"))).text if is_id else receipt
    needs_no_answer = len(keys.keys) > 0 and len(keys.log_vkeys) > 0
    answer = keys.pubkey
    if answer is None and not needs_no_answer:
        answer = (yield from send(service, Request("GET", "/v1/pubkey"))).text
    asked = str(receipt).lower() if is_id else None
    report = verify(evidence, read_trust(answer, keys), attestation_id=asked, now=now)
    return replace(report, pinned=keys.is_pinned)
