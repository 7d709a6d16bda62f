/** A page in one piece, for when Next makes none. It needs no JavaScript, and leads on by GET whatever it answers. */
import { describeError } from "#lib/errors";
import type { Logger } from "#lib/logger";
import type { HttpResponse } from "./messages";
import { plainStyle, plainStyleSource } from "./plain-style";
import { toAppError } from "./problem";

/** The page comes back by itself. */
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

/** With 503, a browser comes back by itself. */
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

/** To a form that was posted without JavaScript: why it failed, or that this isn't known, and the way back to its page. */
export function failurePage(thrown: unknown, back: string, logger: Logger): ReturnType<typeof plainPage> {
  const { errorName, detail, cause, headers } = toAppError(thrown);
  const { status, title } = describeError(errorName);
  const page = { status, back, backLabel: "Back to the page", headers };
  if (status < 500) return plainPage({ ...page, title, text: `Nothing was done: ${detail}.` });
  logger.error({ err: cause ?? thrown }, "a form failed");
  const text = "Something failed, and we don't know whether this went through. Go back to see.";
  return plainPage({ ...page, title: "We don't know whether this went through", text });
}
