/**
 * Entries of package-lock.json for platforms whose packages the registry at hand does not offer have no `integrity`.
 * npm then holds the tarball against the digest in the registry's own metadata: a changed tarball is refused. Shown
 * here with a registry on loopback that serves a package as announced, and then another one in its place.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const name = "countersign-lockfile-probe";

/** A tar archive of one file (POSIX ustar). */
function packTarball(text: string): Buffer {
  const header = Buffer.alloc(512);
  const write = (value: string, at: number) => header.write(value, at, "ascii");
  write("package/package.json", 0);
  write("0000644\0", 100);
  write("0000000\0", 108);
  write("0000000\0", 116);
  write(`${Buffer.byteLength(text).toString(8).padStart(11, "0")}\0`, 124);
  write("00000000000\0", 136);
  write("        0", 148);
  write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
  body.write(text);
  return gzipSync(Buffer.concat([header, body, Buffer.alloc(1024)]));
}

const genuine = packTarball(JSON.stringify({ name, version: "1.0.0" }));
const swapped = packTarball(
  JSON.stringify({ name, version: "1.0.0", description: "not what was announced" }),
);

describe("a lockfile entry without integrity", () => {
  let registry: Server;
  let served: Buffer;

  beforeAll(async () => {
    registry = createServer((incoming, outgoing) => {
      if (incoming.url?.endsWith(".tgz")) {
        outgoing.end(served);
        return;
      }
      const { port } = registry.address() as AddressInfo;
      const integrity = `sha512-${createHash("sha512").update(genuine).digest("base64")}`;
      const tarball = `http://127.0.0.1:${port}/${name}/-/${name}-1.0.0.tgz`;
      const version = { name, version: "1.0.0", dist: { tarball, integrity } };
      outgoing.setHeader("content-type", "application/json");
      outgoing.end(
        JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } }),
      );
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => registry.once("listening", resolve));
  });
  afterAll(() => registry.close());

  async function install(tarball: Buffer): Promise<{ code: number | null; output: string }> {
    served = tarball;
    const folder = await mkdtemp(path.join(tmpdir(), "countersign-lockfile-"));
    const manifest = { name: "probe", version: "1.0.0", dependencies: { [name]: "1.0.0" } };
    const packages = { "": manifest, [`node_modules/${name}`]: { version: "1.0.0" } };
    const lock = { name: "probe", version: "1.0.0", lockfileVersion: 3, requires: true, packages };
    await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
    await writeFile(path.join(folder, "package-lock.json"), JSON.stringify(lock));
    const { port } = registry.address() as AddressInfo;
    const options = [`--registry=http://127.0.0.1:${port}/`, `--cache=${folder}/cache`, "--ignore-scripts"];
    // `npm test --silent` silences every npm below it, this one too.
    const child = spawn(
      "npm",
      ["ci", "--loglevel=error", "--no-audit", "--no-fund", "--fetch-retries=0", ...options],
      {
        cwd: folder,
      },
    );
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    // "close" comes after the last output; "exit" may come before it.
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    await rm(folder, { recursive: true, force: true });
    return { code, output };
  }

  it("is installed when the tarball is the one that the registry announced", async () => {
    expect(await install(genuine)).toMatchObject({ code: 0 });
  });

  it("is refused when it is another", async () => {
    const { code, output } = await install(swapped);
    expect(output).toContain("EINTEGRITY");
    expect(code).toBeGreaterThan(0);
  });
});
