/** A page in one piece, for when Next makes none. It needs no JavaScript, and leads on by GET whatever it answers. */

import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { describeError } from "#lib/errors";
import { count } from "#lib/instrumentation";
import { clip, type Logger } from "#lib/logger";
import { type HttpResponse, toAppError } from "./problem";

/* The page's style, which every page's Content-Security-Policy allows by its hash. */

const plainStyle =
  ":root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem}";

/** The hash as `style-src` names it. */
export const plainStyleSource = `'sha256-${createHash("sha256").update(plainStyle).digest("base64")}'`;

const againSeconds = 5;

const escapeText = (text: string) => text.replace(/[&<>"]/g, (found) => `&#${found.codePointAt(0)};`);

export interface PlainPage {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  /** A path of ours; default: the address that this is the answer of. */
  readonly back?: string;
  readonly backLabel?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function plainPage({
  status,
  title,
  text,
  back = "",
  backLabel = "Reload",
  headers,
}: PlainPage): HttpResponse & { readonly text: string } {
  const url = escapeText(back);
  const refresh =
    status === 503
      ? `<meta http-equiv="refresh" content="${againSeconds}${url === "" ? "" : `;url=${url}`}">`
      : "";
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${refresh}<title>${escapeText(title)}</title><style>${plainStyle}</style></head><body><main><h1>${escapeText(title)}</h1><p>${escapeText(text)}</p><p><a href="${url}">${escapeText(backLabel)}</a></p></main></body></html>`;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": `default-src 'none'; style-src ${plainStyleSource}; frame-ancestors 'none'; base-uri 'none'`,
      ...headers,
    },
    text: page,
  };
}

/** Answers a form that was posted without JavaScript: why it failed, or that this isn't known, and the way back to its page. */
export function failurePage(thrown: unknown, back: string, logger: Logger): ReturnType<typeof plainPage> {
  const { errorName, detail, cause, headers } = toAppError(thrown);
  const { status, title } = describeError(errorName);
  const page = { status, back, backLabel: "Back to the page", headers };
  if (status < 500) return plainPage({ ...page, title, text: `Nothing was done: ${detail}.` });
  logger.error({ err: cause ?? thrown }, "a form failed");
  const text = "Something failed, and we don't know whether this went through. Go back to see.";
  return plainPage({ ...page, title: "We don't know whether this went through", text });
}

/** Texts for programs that read instead of browsing. */
const kinds = { markdown: "text/markdown", plain: "text/plain" } as const;

export function answerText(text: string | null, kind: keyof typeof kinds): Response {
  if (text === null)
    return new Response("Not found\n", {
      status: 404,
      headers: { "Content-Type": "text/plain; charset=utf-8" },
    });
  return new Response(text, {
    headers: {
      "Content-Type": `${kinds[kind]}; charset=utf-8`,
      "Cache-Control": "public, max-age=300",
      "Access-Control-Allow-Origin": "*",
    },
  });
}

/*
 * Forms that Next can't read. It reports each as an error with a stack, often twice, though anybody can send one. Here that is
 * one short line and a count. Reports of our own code about a readable form stay as they are.
 */

export interface PostedForm {
  isMalformed: boolean;
}

const posted = new AsyncLocalStorage<PostedForm>();

const isOfNext = (frame: string) => /node_modules[/_]next[/_]dist/.test(frame);
const isOfNode = (frame: string) => /\(?(?:node:|<anonymous>|index \d+)/.test(frame);

/** True if Next alone was at work, and none of our code. */
function isNextsOwn({ stack = "" }: Error): boolean {
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return frames.some(isOfNext) && frames.every((frame) => isOfNext(frame) || isOfNode(frame));
}

export const runWithForm = <T>(form: PostedForm, work: () => T): T => posted.run(form, work);

/** Message of Next before the error that it throws for a form from another site. */
const announced = /from a forwarded Server Actions request\. Aborting/;

/**
 * Message of Next after an action that redirects: it fetches the next page from itself, by https if the proxy was asked by
 * https, which this server doesn't speak. The browser then fetches that page: nothing failed.
 */
const fellBack = "failed to get redirect response";

export function noteMalformedForm(error: Error | undefined, text: string, logger: Logger): boolean {
  const form = posted.getStore();
  if (form === undefined) return false;
  if (text.startsWith(fellBack)) return true;
  if (error === undefined) return announced.test(text);
  if (!isNextsOwn(error)) return false;
  if (!form.isMalformed) {
    form.isMalformed = true;
    count("malformed form", "");
    logger.warn({ problem: clip(error.message.split("\n")[0] ?? "", 120) }, "a form could not be read");
  }
  return true;
}
