/**
 * Next's scripts and style sheets from memory, in brotli as the build left them (.ci/compress.mjs): Next itself would
 * compress them again at each request, less well, on the processor that is making the page.
 */
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import { everywhere } from "./security-headers";

const types: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** RFC 9110 section 12.5.3, as far as it is about `br`. */
function acceptsBrotli(header: string | undefined): boolean {
  const choices = (header ?? "").toLowerCase().split(",");
  return choices.some((choice) => {
    const [coding, ...parameters] = choice.split(";").map((part) => part.trim());
    return coding === "br" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

/** Answers true if it has answered the request; what it does not have is Next's to answer. */
export type ServeAsset = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/** The addresses of all the build's files. `folder`: Next's `.next/static`. */
export async function listStaticFiles(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => path.extname(name) !== "" && !name.endsWith(".br"));
  return new Set(files.map(toUrl));
}

const toUrl = (name: string) => `/_next/static/${name.split(path.sep).join("/")}`;

/** `folder`: Next's `.next/static`; every name contains a hash of the content, so files are cached permanently. */
export async function loadStaticAssets(folder: string): Promise<ServeAsset> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".br"));
  const assets = new Map<string, { body: Buffer; type: string }>();
  for (const name of names) {
    const original = name.slice(0, -".br".length);
    const type = types[path.extname(original)];
    if (type === undefined) continue;
    assets.set(toUrl(original), { type, body: await readFile(path.join(folder, name)) });
  }
  return (incoming, outgoing) => {
    const { method, url = "/", headers } = incoming;
    const asset = assets.get(url.split("?")[0] ?? "/");
    if (asset === undefined || (method !== "GET" && method !== "HEAD")) return false;
    if (!acceptsBrotli(headers["accept-encoding"])) return false;
    outgoing.writeHead(200, {
      ...everywhere,
      "Content-Type": asset.type,
      "Content-Encoding": "br",
      "Content-Length": asset.body.length,
      "Cache-Control": "public, max-age=31536000, immutable",
      Vary: "Accept-Encoding",
    });
    outgoing.end(method === "HEAD" ? undefined : asset.body);
    return true;
  };
}
