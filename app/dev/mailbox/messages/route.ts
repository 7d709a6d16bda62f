/** The mailbox as JSON if Next serves alone; next.config.ts sends `Accept: application/json` here. */

import { forOwnHosts } from "#lib/api/http/host-check";
import { dispatch } from "#lib/server/operations";

export const GET = forOwnHosts((request) =>
  dispatch(new Request(new URL("/dev/mailbox", request.url), { headers: request.headers })),
);
