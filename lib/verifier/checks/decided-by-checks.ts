/**
 * The checks of how it was decided and how long that counts. What a standing approval or a rule allows is in documents of
 * their own: without them the check says what it can't see.
 */

import { amountUnits } from "#lib/protocol/approval/amount";
import type { ApprovalRequest, HumanAuthorization } from "#lib/protocol/approval/approval";
import { type DecidedByGrant, usableUntil } from "#lib/protocol/approval/decided-by";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";

export function checkDecidedBy({ request, decided_by, approvals }: HumanAuthorization): Outcome {
  if (decided_by.kind === "people") return pass("people decided");
  if (approvals.length > 0) return fail("approvals_unexpected", { kind: decided_by.kind });
  if (request.grant !== null) return fail("grant_needs_people");
  if (decided_by.kind === "rule") return skip("rules_absent");
  return checkUse(request, decided_by) ?? skip("grant_absent");
}

/** The numbers of a use have to fit each other, whatever the terms are. Undefined if they do. */
function checkUse(
  { amount }: ApprovalRequest,
  { use, of, spent, budget, currency }: DecidedByGrant,
): Outcome | undefined {
  if (use > of) return fail("grant_exceeded", { what: `use ${use} of ${of}` });
  if ((currency === null) !== (spent === null) || (currency === null && budget !== null))
    return fail("grant_amounts_mismatch");
  if (budget !== null && amountUnits(spent ?? "0") > amountUnits(budget))
    return fail("grant_exceeded", { what: `${spent} of ${budget} ${currency}` });
  if (amount === undefined) return undefined;
  const isCounted = amount.currency === currency && amountUnits(amount.value) <= amountUnits(spent ?? "0");
  return isCounted ? undefined : fail("grant_amounts_mismatch");
}

export function checkUsable(authorization: HumanAuthorization): Outcome {
  const { usable_until: until } = authorization;
  if (until !== usableUntil(authorization)) return fail("usable_until_mismatch");
  return pass(until === null ? "without an end" : `until ${until}`);
}
