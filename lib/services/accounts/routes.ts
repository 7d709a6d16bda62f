/** Runs the operations of lib/api/operations/rosters.ts. */

import type { Handlers } from "#lib/api/http/call";
import type { rostersOperations as specs } from "#lib/api/operations/rosters";
import type { AccountsContext } from "./context";
import { readRoster } from "./roster-list";

export const rostersHandlers: Handlers<typeof specs, AccountsContext> = {
  readRoster: async ({ context, principal, query }) => ({
    body: await readRoster(context.database.db, principal.organizationId, query.number),
  }),
};
