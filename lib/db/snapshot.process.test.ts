/** The schema in TypeScript is the schema of the migrations: drizzle-kit, asked for a migration, finds nothing to do. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it } from "vitest";

it("has one snapshot, the newest, from which drizzle-kit generates nothing", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-schema-"));
  try {
    cpSync("drizzle", folder, { recursive: true });
    const migrations = readdirSync(folder).filter((name) => name.endsWith(".sql"));
    const newest = migrations.toSorted().at(-1)?.slice(0, 4);
    expect(readdirSync(path.join(folder, "meta"))).toEqual([`${newest}_snapshot.json`, "_journal.json"]);
    const options = [
      "--dialect=postgresql",
      "--schema=lib/db/schema.ts",
      `--out=${path.relative(".", folder)}`,
    ];
    const run = spawnSync("node_modules/.bin/drizzle-kit", ["generate", ...options], { encoding: "utf8" });
    expect(run.stdout + run.stderr).toContain("No schema changes");
    expect(readdirSync(folder).filter((name) => name.endsWith(".sql"))).toEqual(migrations);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
