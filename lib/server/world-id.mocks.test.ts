/** The stand-in is no part of the production server: a bundle of its own, imported only if World is not configured. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { parseEnv } from "#lib/env";
import { openWorldId } from "./open-parts";

const imports = vi.hoisted(() => ({ count: 0 }));
vi.mock("#lib/emulators/world-id", () => {
  imports.count += 1;
  return { createLocalWorldId: () => ({ provider: {} }) };
});

/** Files that a program of the build can load: its own and all its imports, but for the stand-in. */
function readLoaded(file: string, loaded = new Map<string, string>()): Map<string, string> {
  if (loaded.has(file)) return loaded;
  const text = readFileSync(file, "utf8");
  loaded.set(file, text);
  for (const [, atStart, later = ""] of text.matchAll(
    /^(?:import|\} from) "(\.[^"]+)";$|\bimport\("(\.[^"]+)"\)/gm,
  )) {
    const from = atStart ?? later;
    if (!from.endsWith("/stand-in.mjs")) readLoaded(path.join(path.dirname(file), from), loaded);
  }
  return loaded;
}

/** esbuild writes each source's name over its code. */
const listSources = (program: string) =>
  [...readLoaded(program).values()].flatMap((text) =>
    [...text.matchAll(/^\/\/ (\S+\.tsx?)$/gm)].map(([, source]) => source),
  );

describe("the local stand-in", () => {
  it("is in no program of the build but its own", () => {
    expect(listSources("dist/stand-in.mjs")).toContain("lib/emulators/world-app.ts");
    expect(listSources("dist/server.mjs")).toEqual(
      expect.arrayContaining(["lib/server/emulators.ts", "lib/errors.ts"]),
    );
    for (const program of ["server", "zk-worker", "picture-worker", "cli/log", "cli/keys"]) {
      const sources = listSources(`dist/${program}.mjs`);
      expect(sources.length).toBeGreaterThan(0);
      expect(sources.filter((source) => source?.startsWith("lib/emulators/"))).toEqual([]);
    }
  });

  it("is imported only if World is not configured", async () => {
    const files = {
      describe: String,
      read: async () => "11".repeat(32),
      create: vi.fn(),
      replace: vi.fn(),
    };
    const open = (settings: Record<string, string>) =>
      openWorldId(parseEnv(settings), files, (length) => new Uint8Array(length));
    const world = {
      WORLD_APP_ID: "app_test",
      WORLD_RP_ID: "rp_00000000000000ff",
      WORLD_RP_SIGNING_KEY: "22".repeat(32),
    };
    expect((await open(world)).local).toBeNull();
    expect((await open({ APPROVALS: "passkeys" })).local).toBeNull();
    expect(imports.count).toBe(0);
    expect((await open({})).local).not.toBeNull();
    expect(imports.count).toBe(1);
  });
});
