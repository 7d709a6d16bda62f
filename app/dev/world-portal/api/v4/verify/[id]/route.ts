import { serveStandIn } from "#lib/app/stand-in";
import { forOwnHosts } from "#lib/door/next-door";

const handle = forOwnHosts(serveStandIn);

export { handle as POST };
