import { forOwnHosts } from "#lib/http/next-host-check";
import { serveStandIn } from "#lib/runtime/emulators";

const handle = forOwnHosts(serveStandIn);

export { handle as POST };
