/** The mailbox as JSON if Next serves alone; next.config.ts sends `Accept: application/json` here. */

import { dispatch } from "#lib/app/operations";
import { forOwnHosts } from "#lib/door/next-door";

export const GET = forOwnHosts((request) =>
  dispatch(new Request(new URL("/dev/mailbox", request.url), { headers: request.headers })),
);
