/**
 * The pages whose documents have headers of their own (proxy.ts, next.config.ts). A document keeps its headers while
 * pages are exchanged in it, so a link from or to one of these loads a new document (components/ui/page-link.tsx).
 */

/** World's wallet code, which is WebAssembly and speaks to World's bridge, runs here. */
const walletPages = ["/approve"] as const;

/** Pages whose address lets its holder act: it goes into no Referer and no cache. The test wallet's holds the bridge's key. */
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
