/** The public log in Next: the same table, the same handlers. */
import { dispatch } from "#lib/http/operations";

const handle = (request: Request) => dispatch(request);

export { handle as GET, handle as HEAD };
