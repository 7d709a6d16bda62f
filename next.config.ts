/**
 * Next's settings, and the response headers that do not change from request to request. They are set here and
 * not in proxy.ts because a proxy in front of a route costs a third of its throughput; proxy.ts is for pages.
 */
import path from "node:path";
import type { NextConfig } from "next";

const everywhere = [
  { key: "X-Content-Type-Options", value: "nosniff" },
  { key: "X-Frame-Options", value: "DENY" },
  { key: "Referrer-Policy", value: "strict-origin-when-cross-origin" },
  { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
  {
    key: "Permissions-Policy",
    value:
      "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
  },
];

/** What no browser should ever run: API answers, log files, badges, the guides' Markdown. */
const data = [
  { key: "Content-Security-Policy", value: "default-src 'none'; frame-ancestors 'none'; base-uri 'none'" },
];

/** Whoever holds this address can decide the request: it goes into no Referer and no cache. */
const secretLink = [
  { key: "Referrer-Policy", value: "no-referrer" },
  { key: "Cache-Control", value: "no-store" },
  { key: "X-Robots-Tag", value: "noindex, nofollow" },
];

const config: NextConfig = {
  poweredByHeader: false,
  reactStrictMode: true,
  serverExternalPackages: ["@electric-sql/pglite", "postgres", "piscina"],
  turbopack: {
    root: path.resolve(import.meta.dirname),
    rules: { "*.md": { type: "text" } },
  },
  async headers() {
    return [
      { source: "/:path*", headers: everywhere },
      { source: "/v1/:path*", headers: data },
      { source: "/log/:path*", headers: data },
      { source: "/badge/:path*", headers: data },
      { source: "/llms.txt", headers: data },
      { source: "/docs/:slug([a-z-]+)\\.md", headers: data },
      { source: "/approve/:path*", headers: secretLink },
    ];
  },
  async rewrites() {
    return [{ source: "/docs/:slug([a-z-]+)\\.md", destination: "/docs/markdown/:slug" }];
  },
};

export default config;
