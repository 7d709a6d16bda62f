/**
 * Answers for a page that Next couldn't make: Next's own answer is empty until its script runs, and nobody would learn
 * from it whether their form went through.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type PostedForm, plainPage } from "#lib/api/http/plain-page";
import type { Database } from "#lib/db/client";
import type { Logger } from "#lib/logger";
import { httpRequestId } from "#lib/protocol/encoding/bytes";
import type { PageAnswer } from "#lib/server/singleton";

type Loose = (...args: unknown[]) => unknown;

interface Surroundings {
  readonly database: Pick<Database, "wasReachableSince">;
  readonly logger: Pick<Logger, "error">;
  readonly random: (length: number) => Uint8Array;
}

/** Documents only: requests of Next's router and server actions are answered to a script that knows Next's answer. */
export const isDocument = ({ headers }: IncomingMessage) =>
  headers["rsc"] === undefined &&
  headers["next-action"] === undefined &&
  (headers.accept ?? "").includes("text/html");

/** A form may have been posted to an address that is no page: back to where it stood. */
function findBack({ method, headers: { referer = "", host } }: IncomingMessage): string {
  if (method !== "POST" || !URL.canParse(referer)) return "";
  const from = new URL(referer);
  return from.host === host ? `${from.pathname}${from.search}`.replace(/^\/+/, "/") : "";
}

function writePage(isReachable: boolean, back: string, { logger, random }: Surroundings) {
  if (!isReachable) {
    const text =
      "We're trying again every few seconds. If you just sent something, we don't know whether it went through: you'll see it here when the service is back.";
    return plainPage({ status: 503, back, title: "The service isn't available right now", text });
  }
  const id = httpRequestId(random(12));
  logger.error({ reference: id }, "a page could not be made");
  const text = `This page couldn't be made. If you just sent something, we don't know whether it went through. Reload to see. If the problem continues, contact the operator of this instance with this reference: ${id}.`;
  return plainPage({ status: 500, back, title: "Something went wrong", text });
}

const ofBody = [
  "content-encoding",
  "content-length",
  "transfer-encoding",
  "etag",
  "link",
  "vary",
  "accept-ranges",
];

/**
 * A page that says that something isn't there is 404. Two failures are no error of the page: a form that can't be read is 400, and if the database is out of reach it is 503,
 * as the API says.
 */
export function explainFailure(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  surroundings: Surroundings,
  page: PageAnswer & PostedForm,
): void {
  const beganMs = performance.now();
  const [writeHead, write, end] = [outgoing.writeHead, outgoing.write, outgoing.end].map((method) =>
    method.bind(outgoing),
  ) as [Loose, Loose, Loose];
  let isReplaced = false;
  const begin: Loose = (status, ...more) => {
    if (isReplaced) return outgoing;
    if (status !== 500) return writeHead(status === 200 && page.isNotFound ? 404 : status, ...more);
    if (page.isMalformed) {
      outgoing.statusMessage = "";
      return writeHead(400, ...more);
    }
    const isReachable = surroundings.database.wasReachableSince(beganMs);
    if (!isReachable) {
      outgoing.statusMessage = "";
      outgoing.setHeader("retry-after", "2");
    }
    if (!isDocument(incoming)) return writeHead(isReachable ? 500 : 503, ...more);
    isReplaced = true;
    for (const name of ofBody) outgoing.removeHeader(name);
    const { status: said, headers, text } = writePage(isReachable, findBack(incoming), surroundings);
    writeHead(said, headers);
    return end(text);
  };
  const decide = () => {
    if (!outgoing.headersSent && outgoing.statusCode === 500) outgoing.writeHead(500);
    return isReplaced;
  };
  const instead =
    (method: Loose, answer: unknown): Loose =>
    (...args) => {
      if (!decide()) return method(...args);
      const done = args.at(-1);
      if (typeof done === "function") process.nextTick(done);
      return answer;
    };
  Object.assign(outgoing, {
    writeHead: begin,
    write: instead(write, true),
    end: instead(end, outgoing),
  });
}
