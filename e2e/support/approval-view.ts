/** View of a request that waits, on a loopback address; its hashes fit. */
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { bindRequest, confirmationCode } from "#lib/protocol/approval/approval";
import { contextHash } from "#lib/protocol/approval/shown-content";
import { testRequestedBy } from "./human-authorization";

export function makeView(): ApprovalView {
  const context = { amount: "100.00 EUR", recipient: "Example Ltd" };
  const names = { agent_name: "Bill", organization_name: "Example", group_names: [] };
  const request: ApprovalView["request"] = {
    request_id: "areq_test",
    origin: "http://localhost:3000",
    organization: "org",
    agent_slug: "invoice-bot",
    agent_public_key: null,
    action: "Pay invoice 1042",
    context_hash: contextHash("c2FsdA==", context, names, testRequestedBy),
    required_level: "device",
    approvals_required: 1,
    required_approvers: [],
    requester_may_approve: false,
    grant: null,
    created_at: "2026-11-21T08:00:00.000Z",
    expires_at: "2026-11-21T08:30:00.000Z",
    salt: "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  const binding = bindRequest(request);
  return {
    request_id: request.request_id,
    status: "pending",
    request,
    binding,
    context,
    context_salt: "c2FsdA==",
    agent: { slug: "invoice-bot", name: "Bill", public_key: null, key_status: "none" },
    organization: { id: "org", name: "Example" },
    group_names: [],
    requested_by: structuredClone(testRequestedBy),
    required_level: "device",
    approvals: { required: 1, given: 0 },
    groups: [],
    protocol_version: null,
    created_at: request.created_at,
    expires_at: request.expires_at,
    now: "2026-11-21T08:01:00.000Z",
    decided_at: null,
    decided_by: null,
    confirmation_code: confirmationCode(binding.request_hash),
    code_tries_left: null,
    previously_denied: null,
    environment: "local",
    is_test: true,
    rules_explanation: null,
    rules_text: null,
    usable_until: null,
    proofs: [],
    denial_reason: null,
    revoked_at: null,
    is_frozen: false,
    is_erased: false,
    attestation: null,
    before: null,
    amended_path: null,
    looking: [],
    deputies: [],
    questions: [],
    planted: null,
  };
}
