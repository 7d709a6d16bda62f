/** The mailbox as JSON where Next serves alone; next.config.ts sends `Accept: application/json` here. */
import { dispatch } from "#lib/http/operations";

export const GET = (request: Request) =>
  dispatch(new Request(new URL("/dev/mailbox", request.url), { headers: request.headers }));
