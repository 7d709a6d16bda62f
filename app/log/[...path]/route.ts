/** The public log in Next: the same table, the same handlers. */

import { dispatch } from "#lib/app/operations";
import { forOwnHosts } from "#lib/door/next-door";

const handle = forOwnHosts(dispatch);

export { handle as GET, handle as HEAD };
