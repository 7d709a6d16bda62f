/** The checks of enrolled approvers: whose passkeys signed what, who they are to the organization, and of which groups. */

import {
  type ApprovalRequest,
  type HumanAuthorization,
  isPasskeyApproval,
  requestHash,
} from "#lib/protocol/approval/approval";
import { fillPlaces } from "#lib/protocol/approval/assign-groups";
import type { PasskeyApproval } from "#lib/protocol/approval/passkey-approval";
import { checkAssertion } from "#lib/protocol/passkey/assertion";
import { approvalChallenge, relyingPartyOf } from "#lib/protocol/passkey/challenge";
import { checkMembership, rosterHash } from "#lib/protocol/passkey/roster";
import type { RosterHead } from "#lib/protocol/passkey/roster-shape";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { AuthorizationVerifyOptions } from "./authorization-checks";

/** The first that does not pass. */
function judgeEach(
  { approvals }: HumanAuthorization,
  judge: (approval: PasskeyApproval) => Outcome,
  passed: string,
): Outcome {
  const passkeys = approvals.filter(isPasskeyApproval);
  if (passkeys.length === 0) return skip("no_passkey");
  return passkeys.map(judge).find(({ status }) => status !== "pass") ?? pass(passed);
}

/** The challenge follows from the request itself, so that the assertion covers all of it. */
export function checkPasskeys(
  authorization: HumanAuthorization,
  { verifySignature }: Pick<AuthorizationVerifyOptions, "verifySignature">,
): Outcome {
  const { request, approvals } = authorization;
  if (!approvals.some(isPasskeyApproval)) return skip("no_passkey");
  if (!URL.canParse(request.origin)) return fail("passkey_origin_mismatch");
  const challenge = approvalChallenge(requestHash(request), "approve");
  const expected = { challenge, ...relyingPartyOf(request.origin) };
  return judgeEach(
    authorization,
    ({ credential_public_key: public_key, ...assertion }) =>
      checkAssertion({ public_key, ...assertion }, expected, verifySignature),
    "each passkey signed this request, on this site, unlocked by its user",
  );
}

/** One that another contradicts: an organization has one roster of each number, and each names the one before. */
function findForked(heads: readonly RosterHead[]): RosterHead | undefined {
  const contradicts = (other: RosterHead, head: RosterHead) =>
    other.number === head.number
      ? rosterHash(other) !== rosterHash(head)
      : other.number === head.number - 1 && rosterHash(other) !== head.previous;
  return heads.find((head) => heads.some((other) => contradicts(other, head)));
}

/** That the head is the one that the organization's log has is for its monitor; the service's signature vouches for it. */
export function checkRoster(authorization: HumanAuthorization): Outcome {
  const { organization } = authorization.request;
  const found = judgeEach(
    authorization,
    ({ approver_id, credential_public_key, verified_at, roster, groups }) => {
      const { head, entry } = roster;
      if (head.organization !== organization) return fail("roster_of_another");
      if (entry.approver_id !== approver_id || entry.public_key !== credential_public_key)
        return fail("roster_entry_mismatch");
      if (entry.since > head.changed_at || head.changed_at > verified_at)
        return fail("roster_time_mismatch", { time: head.changed_at });
      return checkMembership({ ...roster, groups });
    },
    "each passkey is in the organization's roster, in the groups that it says",
  );
  const forked = findForked(
    authorization.approvals.filter(isPasskeyApproval).map(({ roster }) => roster.head),
  );
  return found.status === "pass" && forked ? fail("roster_broken", { number: forked.number }) : found;
}

/** Whom the request wanted, each person once and for one group; the requester only if that was allowed. */
export function checkQuorum({ request, decided_by, approvals }: HumanAuthorization): Outcome {
  const { required_approvers: required } = request;
  if (required.length === 0) return skip("no_group_required");
  if (decided_by.kind !== "people") return skip("nobody_asked");
  const passkeys = approvals.filter(isPasskeyApproval);
  const people = passkeys.map(({ approver_id }) => approver_id);
  if (new Set(people).size !== people.length) return fail("approver_repeated");
  if (isRequesterCounted(request, people)) return fail("requester_counted");
  const filled = fillPlaces(
    required,
    passkeys.map(({ groups }) => groups.map(({ group }) => group)),
  );
  for (const [index, { group, count }] of required.entries()) {
    const given = filled[index] ?? 0;
    if (given !== count) return fail("group_not_enough", { given, required: count, group });
  }
  return pass(required.map(({ group, count }) => `${count} of group ${group}`).join(", "));
}

function isRequesterCounted({ requester_id, requester_may_approve }: ApprovalRequest, people: string[]) {
  return !requester_may_approve && requester_id !== undefined && people.includes(requester_id);
}
