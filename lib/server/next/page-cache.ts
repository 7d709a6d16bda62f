/**
 * The guides and the API reference, made once: they are the same for everyone but for the colour theme and the nonce of
 * the Content-Security-Policy. Next renders each on the first request; the response is kept in memory while the process
 * lives, and never contains a record.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { answerKept, collectPage, type KeptPage, makeImpersonal, themeOf } from "./cached-page";

export interface KeptPages {
  /** Answers from memory; false: Next has to make the page, and what it answers is kept. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
}

const keepable = /^\/docs(?:\/(?:api\/)?[a-z-]+)?$/;
/** Three themes of some seventy pages; only a page that exists is kept. */
const maxKept = 300;

/** As the page is addressed by links; a query changes nothing in it. */
function pageOf(incoming: IncomingMessage): string | null {
  if (incoming.method !== "GET" && incoming.method !== "HEAD") return null;
  const path = decodeURIComponent((incoming.url ?? "/").split("?")[0] ?? "/");
  return keepable.test(path) ? path : null;
}

/** `host`: that of PUBLIC_BASE_URL. */
export function createKeptPages(host: string): KeptPages {
  const pages = new Map<string, KeptPage>();
  return {
    serve(incoming, outgoing) {
      const path = pageOf(incoming);
      if (path === null) return false;
      const key = `${path} ${themeOf(incoming.headers.cookie)}`;
      const known = pages.get(key);
      if (known !== undefined) {
        answerKept(known, incoming, outgoing);
        return true;
      }
      makeImpersonal(incoming, host, path);
      collectPage(outgoing, (page) => {
        if (pages.size < maxKept) pages.set(key, page);
      });
      return false;
    },
  };
}
