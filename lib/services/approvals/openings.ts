/** Builds what an owner opens of an approval for an auditor (docs/decisions/0051-opening-names-to-an-auditor.md). */
import { and, eq } from "drizzle-orm";
import { authorizationRequests } from "#lib/db/schema";
import { isPasskeyApproval } from "#lib/protocol/approval/approval";
import { findPayeeName } from "#lib/protocol/approval/detail-names";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { type ApproverName, buildOpening, type Opening } from "#lib/protocol/approval/opening";
import { isShownContent, type ShownContent } from "#lib/protocol/approval/shown-content";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { entryName, hashName } from "#lib/protocol/passkey/roster";
import { readNames } from "#lib/services/accounts/approvers";
import { readSignedName } from "#lib/services/accounts/roster";
import type { Context } from "./context";
import { parseContext, parseGroupNames, parseRequest } from "./rows";

/** `payee`: the one detail that names it, where it can be opened alone. `all`: everything that the page showed, and names. */
export const openingChoices = ["none", "payee", "all"] as const;
export type OpeningChoice = (typeof openingChoices)[number];

type Row = typeof authorizationRequests.$inferSelect;

/** As the page showed it; null after erasure. */
function readShown(row: Row): ShownContent | null {
  const { context_salt, agent_name, organization_name, requested_by } = row;
  if (context_salt === null || requested_by === null) return null;
  return {
    context: parseContext(row),
    context_salt,
    agent_name,
    organization_name,
    group_names: parseGroupNames(row),
    requested_by: JSON.parse(requested_by) as JsonValue,
  };
}

/** As their roster commits to them, or by the organization's word where it has no name. */
async function nameApprovers({ database: { db } }: Context, organizationId: string, object: JsonObject) {
  const { approvers } = await readNames(db, organizationId);
  const named = new Map<string, ApproverName>();
  for (const { approver_id, roster } of (parseHumanAuthorization(object)?.approvals ?? []).filter(
    isPasskeyApproval,
  )) {
    const { groups } = roster.entry;
    const signed = await readSignedName(db, organizationId, roster.head.number, entryName(roster.entry));
    const name = approvers[approver_id];
    if (signed !== null && groups.includes(hashName(signed)))
      named.set(approver_id, { approver_id, ...signed });
    else if (name) named.set(approver_id, { approver_id, name });
  }
  return [...named.values()];
}

/** With its opening, if the approval in the answer is the organization's own and what is to be opened is still there. */
export async function addOpening<Answer extends JsonObject>(
  context: Context,
  organizationId: string,
  answer: Answer,
  choice: OpeningChoice,
): Promise<Answer & { opening?: Opening }> {
  const object = answer["human_authorization"];
  const asked = isJsonObject(object) ? object["request"] : null;
  if (choice === "none" || !isJsonObject(object) || !isJsonObject(asked)) return answer;
  const { id, organization_id } = authorizationRequests;
  const [row] = await context.database.db
    .select()
    .from(authorizationRequests)
    .where(and(eq(id, String(asked["request_id"])), eq(organization_id, organizationId)));
  const shown = row === undefined ? null : readShown(row);
  if (row === undefined || shown === null) return answer;
  const request = parseRequest(row);
  // A changed row opens nothing: the reader's check would fail.
  if (!isShownContent(request, shown)) return answer;
  if (choice === "all") {
    const names = await nameApprovers(context, organizationId, object);
    return { ...answer, opening: buildOpening(request, shown, names, () => true) };
  }
  const payee = findPayeeName(parseContext(row));
  // Without hashes of entries, one can't be opened without all others.
  if (payee === null || request.entries_hash === undefined) return answer;
  const isPayee = ({ kind, name }: { kind: string; name: string }) => kind === "context" && name === payee;
  return { ...answer, opening: buildOpening(request, shown, [], isPayee) };
}
