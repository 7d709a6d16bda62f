/** Runs the operations of lib/contract/operations-rosters.ts. */
import type { rostersOperations as specs } from "#lib/contract/operations-rosters";
import type { Handlers } from "#lib/http/call";
import type { AccountsContext } from "./context";
import { readRoster } from "./roster-list";

export const rostersHandlers: Handlers<typeof specs, AccountsContext> = {
  readRoster: async ({ context, principal, query }) => ({
    body: await readRoster(context.database.db, principal.organizationId, query.number),
  }),
};
