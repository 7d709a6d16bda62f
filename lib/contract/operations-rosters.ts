/** Who may approve. */
import { type OperationSpec, withKey } from "./operation";
import { readRosterQuery, rosterResponse } from "./rosters";

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
