/**
 * The body of a request for a page, read before Next sees the request. Next would keep a body that is still being sent,
 * and a copy of it, for as long as the sender likes.
 */
import { IncomingMessage, type ServerResponse } from "node:http";
import { readBytes } from "#lib/api/http/read-json-body";
import { AppError } from "#lib/errors";
import { refuse } from "#lib/server/operations";
import { readRequest, sendResponse } from "./node-http";

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** The same request, its body there from the beginning. */
function withBody(incoming: IncomingMessage, bytes: Uint8Array): IncomingMessage {
  const whole = new IncomingMessage(incoming.socket);
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headers } = incoming;
  Object.assign(whole, { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headers });
  whole.complete = true;
  whole.push(bytes);
  whole.push(null);
  return whole;
}

/** Null: it was too large, too slow or cut off, and that has been answered. */
export async function receiveBody(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<IncomingMessage | null> {
  if (!hasBody(incoming)) return incoming;
  try {
    return withBody(incoming, await readBytes(readRequest(incoming)));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await sendResponse(await refuse(error), outgoing);
    return null;
  }
}
