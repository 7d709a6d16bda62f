/** The mailbox as JSON where Next serves alone; next.config.ts sends `Accept: application/json` here. */
import { forOwnHosts } from "#lib/http/next-door";
import { dispatch } from "#lib/http/operations";

export const GET = forOwnHosts((request) =>
  dispatch(new Request(new URL("/dev/mailbox", request.url), { headers: request.headers })),
);
