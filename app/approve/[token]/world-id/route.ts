import { forOwnHosts } from "#lib/http/next-door";
import { dispatch } from "#lib/http/operations";

export const POST = forOwnHosts(dispatch);
