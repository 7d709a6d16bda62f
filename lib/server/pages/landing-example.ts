/** The attestation that the landing page shows. */

import type { Context } from "#lib/services/approvals/context";
import { type ExampleAttestation, readExample } from "#lib/services/attestations/example";
import { demoOrganizationId } from "#lib/services/portal/demo";

/** The one that the settings name, or the demo's newest. Null also without a database: the page explains and links. */
export async function findLandingExample(
  context: Context,
  id: string | undefined,
): Promise<ExampleAttestation | null> {
  try {
    return (
      (id === undefined ? null : await readExample(context, { id })) ??
      (await readExample(context, { organizationId: demoOrganizationId }))
    );
  } catch (error) {
    context.logger.warn({ err: error }, "the landing page has no example");
    return null;
  }
}
