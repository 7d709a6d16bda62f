import { forOwnHosts } from "#lib/api/http/host-check";
import { serveStandIn } from "#lib/server/emulators";

const handle = forOwnHosts(serveStandIn);

export { handle as GET, handle as HEAD, handle as OPTIONS };
