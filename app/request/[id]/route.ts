import { serveStandIn } from "#lib/http/world-id-stand-in";

const handle = (request: Request) => serveStandIn(request);

export { handle as GET, handle as HEAD, handle as OPTIONS };
