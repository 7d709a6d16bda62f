/**
 * The pages whose documents have headers of their own (proxy.ts, next.config.ts). A document keeps its headers while
 * pages are exchanged in it, so a link from or to one of these loads a new document (components/ui/page-link.tsx).
 */

/** World's wallet code, which is WebAssembly and speaks to World's bridge, runs here. */
const walletPages = ["/approve"] as const;

/** Such an address lets its holder act: it goes into no Referer and no cache. The test wallet's holds the bridge's key. */
export const secretPages = [...walletPages, "/demo", "/notices", "/opened", "/dev/world-app"] as const;

const isAmong = (pages: readonly string[], path: string) =>
  pages.some((page) => path === page || path.startsWith(`${page}/`));

export const isWalletPage = (path: string): boolean => isAmong(walletPages, path);

export const hasOwnHeaders = (path: string): boolean => isAmong(secretPages, path);

/**
 * True if a link may be followed within the document: to another address of this site, but not to the documentation,
 * which the server has ready as a whole.
 */
export const isExchanged = (href: string): boolean => {
  const path = href.split(/[?#]/)[0] ?? "";
  return href.startsWith("/") && !isAmong(["/docs"], path) && !hasOwnHeaders(path);
};

/**
 * The response headers that do not change from request to request, said once for both doors: next.config.ts gives
 * them to what Next answers, finishResponse to what the operations answer.
 */
export const everywhere: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy":
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
};

/** Policy for content that no browser should ever run: API answers, log files, badges, the guides' Markdown. */
export const dataOnly: Readonly<Record<string, string>> = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
};

/** This address lets its holder decide the request: it goes into no Referer and no cache. */
export const secretLink: Readonly<Record<string, string>> = {
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex, nofollow",
};

/** Only if the public address is https. */
export const strictTransport = {
  "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
} as const;
