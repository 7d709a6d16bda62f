/**
 * The Content-Security-Policy of every page (shared rule: no inline script runs without this request's nonce).
 *
 * `style-src-attr 'unsafe-inline'`: charts and pop-ups place themselves by style attributes that React renders on
 * the server. An attribute cannot load anything (img-src, font-src and connect-src still hold) nor hold a
 * selector, so it cannot read the page; style *elements* still need the nonce.
 */
import { plainStyleSource } from "./plain-style";

export interface PolicyOptions {
  readonly nonce: string;
  /** The approval page: World's wallet code is WebAssembly and speaks to World's bridge. */
  readonly allowWorldId: boolean;
  /** The public address is https: plain-http subresources are upgraded. */
  readonly secure: boolean;
  /** `next dev` needs eval and a web socket for its reloads. Never true in a build. */
  readonly development: boolean;
}

/** World's wallet bridge. The stand-in's bridge is on this very origin and needs no entry. */
export const worldBridgeOrigin = "https://bridge.worldcoin.org";

/** One header value. `strict-dynamic` lets Next's own loader add its chunks; 'self' is for browsers without it. */
export function buildContentSecurityPolicy(options: PolicyOptions): string {
  const script = [`'self'`, `'nonce-${options.nonce}'`, "'strict-dynamic'"];
  const connect = ["'self'"];
  if (options.allowWorldId) {
    script.push("'wasm-unsafe-eval'");
    connect.push(worldBridgeOrigin);
  }
  // A form posted without JavaScript is answered with a plain page.
  const style = ["'self'", `'nonce-${options.nonce}'`, plainStyleSource];
  if (options.development) {
    script.push("'unsafe-eval'");
    connect.push("ws:");
    style.splice(0, style.length, "'self'", "'unsafe-inline'");
  }
  const directives = [
    "default-src 'none'",
    `script-src ${script.join(" ")}`,
    `style-src ${style.join(" ")}`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src ${connect.join(" ")}`,
    "manifest-src 'self'",
    "worker-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  if (options.secure) directives.push("upgrade-insecure-requests");
  return directives.join("; ");
}
