/** The public log in Next: the same table, the same handlers. */

import { forOwnHosts } from "#lib/http/next-host-check";
import { dispatch } from "#lib/runtime/operations";

const handle = forOwnHosts(dispatch);

export { handle as GET, handle as HEAD };
