import { forOwnHosts } from "#lib/http/next-door";
import { serveStandIn } from "#lib/http/world-id-stand-in";

const handle = forOwnHosts(serveStandIn);

export { handle as GET, handle as OPTIONS, handle as PUT };
