/** A public attestation to show on the landing page, read from its signed bytes. */

import { and, isNotNull } from "drizzle-orm";
import { attestations } from "#lib/db/schema";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import type { HumanApproval } from "#lib/protocol/statement/human-approval";
import { publicUrl } from "#lib/protocol/statement/product";
import type { Warning } from "#lib/protocol/statement/warnings";
import type { Context } from "#lib/services/approvals/context";
import { ofOrganization, readAttestations } from "./list";

export interface ExampleAttestation {
  id: string;
  slug: string;
  action: string;
  timestamp: string;
  payloadHash: string;
  logIndex: number;
  approval: HumanApproval;
  warnings: Warning[];
  publicUrl: string;
}

/** More than one is read only because a changed row is no example. */
const candidates = 5;

/**
 * The one that is named, or an organization's newest. Null if there is none that is public and whose signature holds.
 * Never anybody's: what a stranger writes is no example of this service's.
 */
export async function readExample(
  context: Context,
  wanted: { id: string } | { organizationId: string },
): Promise<ExampleAttestation | null> {
  const scope = "id" in wanted ? undefined : ofOrganization(wanted.organizationId);
  const { shown } = await readAttestations(
    context,
    and(scope, isNotNull(attestations.payload)),
    { isPublic: true, ...("id" in wanted && { id: wanted.id }) },
    { limit: candidates },
  );
  for (const { row, statement, warnings } of shown) {
    if (statement === null) continue;
    const { predicate } = statement;
    const slug = String(predicate.request["agent_slug"]);
    return {
      id: row.id,
      slug,
      action: String(predicate.request["action"]),
      timestamp: predicate.timestamp,
      payloadHash: hexEncode(row.payload_hash),
      logIndex: row.leaf_index,
      approval: predicate.human_approval,
      warnings,
      publicUrl: publicUrl(context.settings.baseUrl, slug, row.id),
    };
  }
  return null;
}
