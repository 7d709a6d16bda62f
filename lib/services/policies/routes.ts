/** Runs the operations of lib/api/operations/authorizations.ts. */

import type { Handlers } from "#lib/api/http/pipeline";
import type { rulesOperations as specs } from "#lib/api/operations/authorizations";
import { findWarnings } from "./check";
import type { RulesContext } from "./context";
import { readRules } from "./read";
import { simulateRules } from "./simulate";
import { saveRules } from "./versions";

export const rulesHandlers: Handlers<typeof specs, RulesContext> = {
  readRules: async ({ context, principal, query }) => ({
    body: await readRules(context.database.db, principal.organizationId, query.version),
  }),
  putRules: async ({ context, principal, body }) => {
    await saveRules(context, principal, body);
    const { organizationId } = principal;
    const warnings = await findWarnings(context, organizationId, body.text);
    return { body: { ...(await readRules(context.database.db, organizationId)), warnings } };
  },
  simulateRules: async ({ context, principal, body }) => ({
    body: await simulateRules(context, principal.organizationId, body),
  }),
};
