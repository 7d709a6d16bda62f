/** Who may approve. */

import { readRosterQuery, rosterResponse } from "#lib/api/schemas/rosters";
import { type OperationSpec, withKey } from "./operation";

export const rostersOperations = {
  readRoster: {
    method: "GET",
    path: "/v1/roster",
    summary: "Read who may approve for your organization: the newest roster, or an earlier one",
    tag: "Authorizations",
    auth: withKey("read"),
    limit: "keyed",
    query: readRosterQuery,
    responses: { 200: rosterResponse },
    errors: [401, 403],
  },
} as const satisfies Record<string, OperationSpec>;
