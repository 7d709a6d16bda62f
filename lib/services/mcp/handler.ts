/** The protocol's own part, in both of its eras and without sessions. Loaded with the first request: the SDK is large. */
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Logger } from "#lib/logger";
import { createRounds } from "./approval-rounds";
import type { CallOperation } from "./call-operation";
import { createServer } from "./server";

export interface Caller {
  call: CallOperation;
  keyId: string;
  scopes: string[];
  /** Key of the HMAC under state that goes through the client. */
  stateKey: Uint8Array;
  logger: Logger;
}

/** A server for each request, made for its caller. Nothing here changes by itself, so there is nothing to subscribe to. */
const handler = createMcpHandler(
  ({ authInfo }) => {
    const caller = authInfo?.extra?.["caller"] as Caller | undefined;
    if (caller === undefined) throw new Error("an MCP request without its caller");
    const { call, stateKey, logger } = caller;
    return createServer(call, createRounds(stateKey), logger);
  },
  { maxSubscriptions: 0 },
);

export function handle(request: Request, parsedBody: unknown, caller: Caller): Promise<Response> {
  const { keyId: clientId, scopes } = caller;
  return handler.fetch(request, { parsedBody, authInfo: { token: "", clientId, scopes, extra: { caller } } });
}
