/**
 * Translates verdicts of the database's function `store_attestations` (drizzle/0005_stop_uses.sql), where the rules
 * are, into errors for the caller.
 */

import { takenOver } from "#lib/api/http/idempotency";
import { AppError, fieldError } from "#lib/errors";
import { type Judgement, StaleInputs, type Verdict } from "#lib/log/sequencer/item";
import { countOf } from "#lib/protocol/text/count";
import { slugTaken } from "#lib/services/agents/agents";
import { unusable } from "#lib/services/approvals/use/unusable";
import { invalidApiKey, keyLookUpFailed, secondsToMidnight } from "#lib/services/keys/api-keys";
import type { AttestationItem } from "./item";

function dailyLimitExceeded(item: AttestationItem, who: string, limit: unknown): AppError {
  const most = countOf(Number(limit), "attestation");
  return new AppError("daily_limit_exceeded", `${who} can record ${most} per UTC day`, {
    headers: { "retry-after": secondsToMidnight(new Date(item.predicate.timestamp)) },
  });
}

function signatureReplayed(first: unknown): AppError {
  return fieldError(
    "agent_signature_replayed",
    "agent_signature",
    `was already used by attestation ${first}; if the agent really did this again, sign a request with another metadata.nonce`,
  );
}

/** The slug was claimed meanwhile, for the same organization and with nothing registered: no verdict changes. */
function putWithClaimed(item: AttestationItem, { owner, owner_version }: Verdict): Judgement {
  item.agent = { id: String(owner), version: String(owner_version) };
  item.agentId = item.agent.id;
  return "again";
}

export function judgementOf(item: AttestationItem, verdict: Verdict): Judgement {
  switch (verdict.verdict) {
    case "unknown_key":
      return keyLookUpFailed();
    case "ended_key":
      return invalidApiKey();
    case "outdated":
      return new StaleInputs();
    case "taken_over":
      return takenOver();
    case "signature_replayed":
      return signatureReplayed(verdict["replayed"]);
    case "slug_taken":
      return slugTaken();
    case "slug_claimed":
      return putWithClaimed(item, verdict);
    case "unusable_authorization":
      return unusable(verdict["why"]);
    case "organization_limit":
      return dailyLimitExceeded(item, "the organization", verdict["per_day"]);
    case "key_limit":
      return dailyLimitExceeded(item, "this API key", verdict["per_day"]);
    case "after_neighbour":
      return "after";
    default:
      throw new Error(`the database gave an unknown verdict: ${verdict.verdict}`);
  }
}
