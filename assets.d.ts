/** Imports besides code: guides as text (next.config.ts, turbopack.rules), and the style sheet. */
declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.css";
declare module "proxy-from-env" {
  /** Empty: none. */
  export function getProxyForUrl(url: string | URL): string;
}
