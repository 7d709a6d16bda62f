/**
 * The pages that show records to everyone: of attestations, of agents, and the landing page with its example. Every visit
 * reads and verifies the stored bytes. Rendering costs twenty times as much, so the page that it led to is kept for a
 * minute, and answered again while every byte of what it is made from is the same: after an erasure, a revoked key or a
 * changed row the very next visit gets another page.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LRUCache } from "lru-cache";
import { answerKept, collectPage, type KeptPage, stripVisitorHeaders, themeOf } from "./page-cache";

/** Names what is handed over to the page that Next renders. Clients can't guess it. */
export const HANDED_OVER_HEADER = "x-countersign-handed-over";

export interface RecordPageCache {
  /** Answers; false: Next has to make the page, from what is handed over, and what it answers is kept. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean>;
}

/** Data loaded for a request that Next answers. */
export interface PreloadedData {
  loading: Promise<unknown>;
  sinceMs: number;
  /** As the same client. */
  loadAgain(): Promise<unknown>;
  /** The page is made from it. */
  isTaken: boolean;
}

/** A page may wait for its turn, and what it shows may be erased meanwhile: what is older is loaded again. */
const freshMs = 1_000;

/** For the page: what it is made from; null if no server has handed anything over. */
export function takePreloadedData<Value>(
  { handedOver }: { handedOver: ReadonlyMap<string, PreloadedData> },
  headers: Pick<Headers, "get">,
  nowMs: number = performance.now(),
): Promise<Value> | null {
  const found = handedOver.get(headers.get(HANDED_OVER_HEADER) ?? "");
  if (found === undefined) return null;
  found.isTaken = nowMs - found.sinceMs <= freshMs;
  return (found.isTaken ? found.loading : found.loadAgain()) as Promise<Value>;
}

interface View {
  /** Pattern of the path; its group names the record, if there are several. */
  pattern: RegExp;
  load(name: string, incoming: IncomingMessage): Promise<unknown>;
}

export interface RecordPageCacheOptions {
  /** That of PUBLIC_BASE_URL. */
  host: string;
  views: readonly View[];
  handedOver: Map<string, PreloadedData>;
  /** As performance.now(). */
  nowMs(): number;
}

interface Kept {
  digest: string;
  page: KeptPage;
}

/** Some 30 MB. */
const maxKept = 200;
/** Loads the page's data; null for requests that Next answers with something else than the page. */
const maxAgeMs = 60_000;

/** Loads what the page is made from; null for what Next answers with something else than the page. */
function findLoad(views: readonly View[], incoming: IncomingMessage): (() => Promise<unknown>) | null {
  const { method, url = "/", headers } = incoming;
  if ((method !== "GET" && method !== "HEAD") || headers["rsc"] !== undefined) return null;
  for (const { pattern, load } of views) {
    const found = pattern.exec(url);
    if (found !== null) return () => load(found[1] ?? "", incoming);
  }
  return null;
}

const digestOf = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("base64");

export function createRecordPageCache({
  host,
  views,
  handedOver,
  nowMs,
}: RecordPageCacheOptions): RecordPageCache {
  const pages = new LRUCache<string, Kept>({
    max: maxKept,
    ttl: maxAgeMs,
    ttlResolution: 0,
    ttlAutopurge: true,
    perf: { now: nowMs },
  });

  function handOver(incoming: IncomingMessage, outgoing: ServerResponse, made: PreloadedData): void {
    const name = randomBytes(16).toString("hex");
    handedOver.set(name, made);
    outgoing.once("close", () => handedOver.delete(name));
    incoming.headers[HANDED_OVER_HEADER] = name;
  }

  return {
    async serve(incoming, outgoing) {
      delete incoming.headers[HANDED_OVER_HEADER];
      const load = findLoad(views, incoming);
      if (load === null) return false;
      const loading = load();
      const key = `${incoming.url} ${themeOf(incoming.headers.cookie)}`;
      const digest = await loading.then(digestOf, () => null);
      const known = pages.get(key);
      if (known !== undefined && known.digest === digest) {
        answerKept(known.page, incoming, outgoing);
        return true;
      }
      pages.delete(key);
      // Counted from when it was loaded: a page doesn't wait twice for what takes long, or fails.
      const made = { loading, sinceMs: nowMs(), loadAgain: load, isTaken: false };
      handOver(incoming, outgoing, made);
      if (digest === null) return false;
      stripVisitorHeaders(incoming, host, incoming.url ?? "/");
      collectPage(outgoing, (page) => {
        if (made.isTaken) pages.set(key, { digest, page }, { start: made.sinceMs });
      });
      return false;
    },
  };
}
