/** The public log in Next: the same table, the same handlers. */
import { forOwnHosts } from "#lib/http/next-door";
import { dispatch } from "#lib/http/operations";

const handle = forOwnHosts(dispatch);

export { handle as GET, handle as HEAD };
