"""Attest what a software agent did, prove that a human approved it, and verify both offline."""

from ._async_client import AsyncCountersign
from ._client import Countersign
from ._gate import Approval, Gated
from ._gate_options import GateOptions
from ._inputs import hash_inputs
from ._session import AttestOutcome
from ._sign import AgentKey, sign_agent_request
from ._wire import Attestation, AttestRequest, AuthorizationRequest, AuthorizationState, AuthorizeRequest, Identity
from .errors import (
    AgentFrozenError,
    ApiError,
    ApprovalClaimedError,
    ApprovalMismatchError,
    ApprovalRevokedError,
    ApprovalUsedError,
    CountersignError,
    FieldProblem,
    NotApprovedError,
    NotAttestedError,
    NotDecidedError,
    ServiceConnectionError,
    UnreadableError,
    WaitTimeoutError,
)

__all__ = [
    "AgentFrozenError",
    "AgentKey",
    "ApiError",
    "Approval",
    "ApprovalClaimedError",
    "ApprovalMismatchError",
    "ApprovalRevokedError",
    "ApprovalUsedError",
    "AsyncCountersign",
    "AttestOutcome",
    "AttestRequest",
    "Attestation",
    "AuthorizationRequest",
    "AuthorizationState",
    "AuthorizeRequest",
    "Countersign",
    "CountersignError",
    "FieldProblem",
    "GateOptions",
    "Gated",
    "Identity",
    "NotApprovedError",
    "NotAttestedError",
    "NotDecidedError",
    "ServiceConnectionError",
    "UnreadableError",
    "WaitTimeoutError",
    "hash_inputs",
    "sign_agent_request",
]
