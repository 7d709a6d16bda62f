import { dispatch } from "#lib/app/operations";
import { forOwnHosts } from "#lib/door/next-door";

export const GET = forOwnHosts(dispatch);
