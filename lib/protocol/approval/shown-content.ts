/** Content that the approval page shows and the object hides, bound to the request by a salted hash. */
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { ApprovalRequest } from "./approval";
import type { RequestedBy } from "./requested-by";

/** The names that the page shows; null if there is none. */
export interface ShownNames {
  agent_name: string | null;
  organization_name: string | null;
  /** Names of the required groups, in the request's order. */
  group_names: string[];
}

/** As read from a file, so of any type. */
export interface ShownContent extends Record<keyof ShownNames, JsonValue> {
  context: JsonValue;
  context_salt: JsonValue;
  requested_by: JsonValue;
}

/** Hides context, names and who asks from readers without the salt. */
export function contextHash(
  context_salt: string,
  context: Record<string, string>,
  names: ShownNames,
  requestedBy: RequestedBy,
): string {
  const requested_by = requestedBy as unknown as JsonObject;
  return hashShown({ context, context_salt, ...names, requested_by });
}

function hashShown({ context, context_salt, requested_by, ...names }: ShownContent): string {
  const { agent_name, organization_name, group_names } = names;
  const covered = [context_salt, context, { agent_name, organization_name, group_names }, requested_by];
  return hexEncode(sha256(canonicalBytes(covered)));
}

export function isShownContent(request: Pick<ApprovalRequest, "context_hash">, shown: ShownContent): boolean {
  return hashShown(shown) === request.context_hash;
}
