import { serveStandIn } from "#lib/http/world-id-stand-in";

const handle = (request: Request) => serveStandIn(request);

export { handle as POST };
