/** The /v1 operations in Next (`next dev`, `next start`, any Next host): the same table, the same handlers. */

import { forOwnHosts } from "#lib/api/http/host-check";
import { dispatch } from "#lib/server/operations";

const handle = forOwnHosts(dispatch);

export {
  handle as DELETE,
  handle as GET,
  handle as HEAD,
  handle as OPTIONS,
  handle as PATCH,
  handle as POST,
  handle as PUT,
};
