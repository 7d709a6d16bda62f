/**
 * The public pages of attestations. Every visit runs the verification anew, from the stored bytes. Rendering costs twenty
 * times as much, so the page that it led to is kept for a minute, and answered again while every byte of what it is
 * made from is the same: after an erasure, a revoked key or a changed row the very next visit gets another page.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRecent } from "#lib/workers/recent";
import { answerKept, collectPage, type KeptPage, makeImpersonal, themeOf } from "./kept-page";

/** Names what is handed over to the page that Next renders; nobody outside can guess it. */
export const HANDED_OVER_HEADER = "x-countersign-handed-over";

export interface KeptVerifications {
  /** Answers; false: Next has to make the page, from what is handed over, and what it answers is kept. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean>;
}

export interface KeptVerificationsOptions {
  /** That of PUBLIC_BASE_URL. */
  host: string;
  /** What the page is made from. */
  load(id: string, incoming: IncomingMessage): Promise<unknown>;
  handedOver: Map<string, Promise<unknown>>;
  nowMs(): number;
}

interface Kept {
  digest: string;
  page: KeptPage;
  madeMs: number;
}

const pagePath = /^\/verify\/[a-z0-9_.-]+\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
/** Some 30 MB. */
const maxKept = 200;
/** What is erased stays in memory no longer than this. */
const maxAgeMs = 60_000;

/** Null for what Next answers with something else than the page. */
function idOf({ method, url = "/", headers }: IncomingMessage): string | null {
  const isPage = (method === "GET" || method === "HEAD") && headers["rsc"] === undefined;
  return isPage ? (pagePath.exec(url)?.[1] ?? null) : null;
}

const digestOf = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("base64");

export function createKeptVerifications(options: KeptVerificationsOptions): KeptVerifications {
  const { host, load, handedOver, nowMs } = options;
  const pages = createRecent<Kept>(maxKept);

  function keepFor(key: string, page: Kept): void {
    pages.set(key, page);
    const forget = () => {
      if (pages.get(key) === page) pages.forget(key);
    };
    setTimeout(forget, maxAgeMs).unref();
  }

  function handOver(incoming: IncomingMessage, outgoing: ServerResponse, loading: Promise<unknown>): void {
    const name = randomBytes(16).toString("hex");
    handedOver.set(name, loading);
    outgoing.once("close", () => handedOver.delete(name));
    incoming.headers[HANDED_OVER_HEADER] = name;
  }

  return {
    async serve(incoming, outgoing) {
      delete incoming.headers[HANDED_OVER_HEADER];
      const id = idOf(incoming);
      if (id === null) return false;
      const key = `${incoming.url} ${themeOf(incoming.headers.cookie)}`;
      const loading = load(id, incoming);
      const digest = await loading.then(digestOf, () => null);
      const known = pages.get(key);
      if (known !== undefined && known.digest === digest && nowMs() - known.madeMs < maxAgeMs) {
        answerKept(known.page, incoming, outgoing);
        return true;
      }
      pages.forget(key);
      handOver(incoming, outgoing, loading);
      if (digest === null) return false;
      makeImpersonal(incoming, host, incoming.url ?? "/");
      collectPage(outgoing, (page) => keepFor(key, { digest, page, madeMs: nowMs() }));
      return false;
    },
  };
}
