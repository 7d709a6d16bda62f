/**
 * Erased content is nowhere, and a changed verdict is shown everywhere: every address about a record is
 * fetched before and after, through both ways in, pictures, feeds and Next's own addresses included.
 */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyKind } from "#support/databases";
import { callServer, type Door, obtainKey, type ServerProcess } from "./server-process";

const secret = "Zanzibar4711";

interface Fetched {
  status: number;
  cacheControl: string;
  bytes: Buffer;
}

async function fetchOne(
  base: string,
  target: string,
  headers: Record<string, string> = {},
): Promise<Fetched> {
  const answer = await fetch(base + target, { headers });
  const cacheControl = answer.headers.get("cache-control") ?? "";
  return { status: answer.status, cacheControl, bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** Addresses of a record: those we know of, and those that its page names. */
async function listAddresses(base: string, slug: string, id: string): Promise<string[]> {
  const page = `/verify/${slug}/${id}`;
  const html = (await fetchOne(base, page)).bytes.toString();
  const named = [...html.matchAll(/(?:href|src|content)="([^"]+)"/g)].map(([, url = ""]) => url);
  const own = named
    .map((url) => url.replaceAll("&amp;", "&").replace(/^https?:\/\/[^/]+/, ""))
    .filter((url) => url.startsWith("/") && (url.includes(id) || url.includes(`/${slug}`)));
  const pictures = [
    `${page}/opengraph-image`,
    `/badge/${slug}.svg`,
    ...own.filter((url) => url.includes("image")),
  ];
  const optimized = pictures.flatMap((url) =>
    [640, 1200].map((width) => `/_next/image?url=${encodeURIComponent(url)}&w=${width}&q=75`),
  );
  const build = (await readFile(".next/BUILD_ID", "utf8")).trim();
  const all = [
    page,
    ...pictures,
    ...optimized,
    `/_next/data/${build}${page}.json`,
    `${page}.rsc`,
    `/badge/${slug}.svg?attestation=${id}`,
    `/agent/${slug}`,
    `/agent/${slug}/feed.json`,
    `/agent/${slug}/feed.atom`,
    "/",
    "/sitemap.xml",
    `/verify?q=${id}`,
    `/v1/agent/${slug}`,
    `/v1/verify/${id}`,
    ...["bundle", "envelope", "tlog-proof"].map((file) => `/v1/verify/${id}/${file}`),
    ...own,
  ];
  return [...new Set(all)];
}

/**
 * True for pages that Next renders, and keeps apart by the headers of its own links. The rest has handlers, which do
 * not read them.
 */
const isRendered = (target: string) =>
  !/^\/(?:v1|_next|badge)\/|\.(?:json|atom|xml)$|opengraph-image/.test(target);

/** Fetches each address, and each page also in the form that Next's links ask for. */
async function fetchAll(base: string, targets: readonly string[]): Promise<Map<string, Fetched>> {
  const all = new Map<string, Fetched>();
  for (const target of targets) {
    all.set(target, await fetchOne(base, target));
    if (!isRendered(target)) continue;
    all.set(`RSC ${target}`, await fetchOne(base, target, { rsc: "1" }));
    all.set(`prefetch ${target}`, await fetchOne(base, target, { rsc: "1", "next-router-prefetch": "1" }));
  }
  return all;
}

async function findOnDisk(folder: string, needles: readonly Buffer[]): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = path.join(entry.parentPath, entry.name);
    const content = await readFile(file);
    if (needles.some((needle) => content.includes(needle))) found.push(file);
  }
  return found;
}

/** `databaseUrl`: the server's PostgreSQL, where rows are changed behind its back. */
export function testErasure(door: Door, getServer: () => ServerProcess, databaseUrl: () => string): void {
  describe.skipIf(anyKind !== "postgres")("a record's addresses", () => {
    let server: ServerProcess;
    let sql: postgres.Sql;
    let key: string;

    beforeAll(async () => {
      server = getServer();
      sql = postgres(databaseUrl(), { max: 1, onnotice: () => {} });
      key = await obtainKey(server.base, "owner@example.com");
      await sql`UPDATE api_keys SET scopes = array_append(scopes, 'erase') WHERE NOT 'erase' = ANY(scopes)`;
    });
    afterAll(() => sql.end());

    async function attest(slug: string): Promise<string> {
      const body = {
        agent_slug: slug,
        action: `Paid ${secret}`,
        inputs_hash: "x",
        metadata: { note: secret },
      };
      return (await callServer(server.base, "POST", "/v1/attest", { key, body })).body.attestation_id;
    }

    it("let no cache answer without asking, and show nothing of an erased record, nor does Next's cache on disk", async () => {
      const id = await attest("eraser");
      const targets = await listAddresses(server.base, "eraser", id);
      const before = await fetchAll(server.base, targets);
      const showing = [...before].filter(([, { bytes }]) => bytes.includes(secret)).map(([target]) => target);
      expect(showing).toEqual(
        expect.arrayContaining([`/verify/eraser/${id}`, "/agent/eraser/feed.json", `/v1/verify/${id}`]),
      );
      const picture = `/verify/eraser/${id}/opengraph-image`;
      expect(before.get(picture)?.status).toBe(200);
      for (const [target, { cacheControl, status }] of before) {
        if (status === 404 || target.endsWith("sitemap.xml")) continue;
        expect([target, cacheControl]).toEqual([target, expect.stringMatching(/no-store|no-cache/)]);
      }

      const erased = await callServer(server.base, "DELETE", `/v1/attestations/${id}/content`, { key });
      expect(erased.status).toBe(200);
      const after = await fetchAll(server.base, targets);
      const isPicture = (bytes: Buffer) => bytes.subarray(1, 4).toString() === "PNG";
      const pictures = [...before].filter(([target, { bytes }]) => target.includes(id) && isPicture(bytes));
      expect(pictures.length).toBeGreaterThan(0);
      for (const [target, { bytes, status }] of after) {
        expect([target, bytes.includes(secret)]).toEqual([target, false]);
        expect([target, pictures.some(([, old]) => old.bytes.equals(bytes))]).toEqual([target, false]);
        // Next alone renders a page for /_next/data/, each time again; the production server has no such address.
        if (target.includes(door === "server" ? "/_next/" : "/_next/image"))
          expect([target, status]).toEqual([target, 404]);
      }
      const needles = [Buffer.from(secret), ...pictures.map(([, { bytes }]) => bytes.subarray(100, 400))];
      expect(await findOnDisk(".next/cache", needles)).toEqual([]);
      expect(await findOnDisk(".next/server", needles)).toEqual([]);
      // Expects no picture of any kind: every file contains the empty string.
      expect(await findOnDisk(".next/cache/images", [Buffer.of()])).toEqual([]);
    });

    if (door === "server")
      it("show the new verdict when it has changed", async () => {
        const id = await attest("turncoat");
        const page = `/verify/turncoat/${id}`;
        const badge = `/badge/turncoat.svg?attestation=${id}`;
        const picture = `${page}/opengraph-image`;
        const targets = [page, picture, badge, "/agent/turncoat/feed.json"];
        const before = await fetchAll(server.base, targets);
        const text = (all: Map<string, Fetched>, target: string) => all.get(target)?.bytes.toString() ?? "";
        expect(text(before, badge)).toContain("authentic");
        expect(text(before, badge)).not.toContain("NOT AUTHENTIC");

        const changed = await sql`
      UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Paid', 'Sent'), 'UTF8')
      WHERE id = ${id}`;
        expect(changed.count).toBe(1);
        const after = await fetchAll(server.base, targets);
        expect(text(after, badge)).toContain("NOT AUTHENTIC");
        expect(text(after, page)).toMatch(/<h1[^>]*>Not authentic/);
        expect(text(after, "/agent/turncoat/feed.json")).not.toContain(`Paid ${secret}`);
        expect(after.get(picture)?.bytes.equals(before.get(picture)?.bytes ?? Buffer.of())).toBe(false);
      });
  });
}
