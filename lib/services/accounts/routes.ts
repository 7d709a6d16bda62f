/** Runs the operations of lib/api/operations/agents.ts. */

import type { Handlers } from "#lib/api/http/pipeline";
import type { rostersOperations as specs } from "#lib/api/operations/agents";
import type { AccountsContext } from "./context";
import { readRoster } from "./roster";

export const rostersHandlers: Handlers<typeof specs, AccountsContext> = {
  readRoster: async ({ context, principal, query }) => ({
    body: await readRoster(context.database.db, principal.organizationId, query.number),
  }),
};
