/** The public log in Next: the same table, the same handlers. */

import { forOwnHosts } from "#lib/api/http/host-check";
import { dispatch } from "#lib/server/operations";

const handle = forOwnHosts(dispatch);

export { handle as GET, handle as HEAD };
