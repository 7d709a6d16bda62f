/**
 * Next's settings, and the response headers that do not change from request to request. They are given here and
 * not in proxy.ts because a proxy in front of a route costs a third of its throughput; proxy.ts is for pages.
 */
import path from "node:path";
import type { NextConfig } from "next";
// Next resolves no `#lib/` in this file.
import { dataOnly, everywhere, secretLink } from "./lib/api/http/security-headers";
import { secretPages } from "./lib/api/schemas/page-headers";

const toList = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers).map(([key, value]) => ({ key, value }));

const config: NextConfig = {
  poweredByHeader: false,
  // `npm test` checks types, in all files at once; to check those of pages in the build too takes a start 13 seconds.
  typescript: { ignoreBuildErrors: true },
  reactStrictMode: true,
  // The optimizer keeps what it has fetched on disk for hours, beyond an erasure; there is no picture to optimize.
  images: { unoptimized: true },
  // Nothing that is made for a request is kept: a copy would outlive an erasure and a change of the verdict.
  cacheMaxMemorySize: 0,
  // Nothing is deployed by the lists of files that routes may read: the builder would list the whole project for each of
  // 150 routes, 28 MB.
  outputFileTracingExcludes: { "/**": ["**/*"] },
  experimental: {
    serverActions: { bodySizeLimit: "64kb" },
    // Limit of the copy that Next keeps of requests to proxy.ts. The production server rejects more
    // (lib/server/next/page-limits.ts).
    proxyClientMaxBodySize: "64kb",
    // Most of a start would go into pages that nobody has asked for.
    preloadEntriesOnStart: false,
    // Nothing reads the maps of what runs on the server: Node.js would have to be asked to. They are two thirds of the build.
    turbopackSourceMaps: false,
    turbopackInputSourceMaps: false,
    // Shorter names make pages on the server neither faster nor smaller in memory, and take a fifth of the build's time.
    turbopackMinify: { client: true, server: false },
    // A build of a clone has no earlier one to go on from, and to keep 275 MB for the next takes it a sixth of its time.
    turbopackFileSystemCacheForBuild: false,
  },
  serverExternalPackages: ["postgres", "piscina", "sodium-native"],
  turbopack: {
    root: path.resolve(import.meta.dirname),
    rules: { "*.md": { type: "text" } },
  },
  async headers() {
    return [
      // The operations bring theirs along (lib/api/http/common-headers.ts), in Next too.
      { source: "/((?!v1(?:/|$)|log/|\\.well-known/).*)", headers: toList(everywhere) },
      { source: "/badge/:path*", headers: toList(dataOnly) },
      { source: "/llms.txt", headers: toList(dataOnly) },
      { source: "/llms-full.txt", headers: toList(dataOnly) },
      { source: "/docs/:slug([a-z-]+)\\.md", headers: toList(dataOnly) },
      { source: "/docs/api/:slug([a-z-]+)\\.md", headers: toList(dataOnly) },
      ...secretPages.map((page) => ({ source: `${page}/:path*`, headers: toList(secretLink) })),
    ];
  },
  async rewrites() {
    return {
      // Ahead of the page at the same address; server.ts answers this before Next.
      beforeFiles: [
        {
          source: "/dev/mailbox",
          has: [{ type: "header", key: "accept", value: ".*application/json.*" }],
          destination: "/dev/mailbox/messages",
        },
      ],
      afterFiles: [
        { source: "/docs/:slug([a-z-]+)\\.md", destination: "/docs/markdown/:slug" },
        { source: "/docs/api/:slug([a-z-]+)\\.md", destination: "/docs/api-markdown/:slug" },
      ],
    };
  },
};

export default config;
