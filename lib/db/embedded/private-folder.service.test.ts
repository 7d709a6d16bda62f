/** The service's folders are closed to other users at each start, whatever the umask, and whoever made them before. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { logger } from "#lib/logger";
import { startTestApp } from "#support/app";
import { databaseKinds } from "#support/databases";
import { makePrivateFolder, makePrivateParent } from "./data-folder";

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), "countersign-private-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  rmSync(parent, { recursive: true });
});

const modeOf = (folder: string) => (statSync(folder).mode & 0o777).toString(8);

it("are made closed under any umask, and folders that were open are closed", async () => {
  const folder = path.join(parent, "data");
  const before = process.umask(0o777);
  await makePrivateFolder(folder).finally(() => process.umask(before));
  expect(modeOf(folder)).toBe("700");
  mkdirSync(path.join(folder, "keys"));
  for (const open of [folder, path.join(folder, "keys")]) chmodSync(open, 0o777);
  await makePrivateParent(folder, ["keys", "not-there"]);
  expect([folder, path.join(folder, "keys")].map(modeOf)).toEqual(["700", "700"]);
});

it("are closed in a folder that is others' too, which is left to them", async () => {
  const warned = vi.spyOn(logger, "warn").mockReturnValue();
  for (const name of ["keys", "theirs"]) mkdirSync(path.join(parent, name));
  for (const open of ["", "keys", "theirs"]) chmodSync(path.join(parent, open), 0o755);
  await makePrivateParent(parent, ["keys"]);
  expect(["", "keys", "theirs"].map((name) => modeOf(path.join(parent, name)))).toEqual([
    "755",
    "700",
    "755",
  ]);
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(`may open ${parent}, which holds`));
});

it("that this user may not close are told of if others may open them", async () => {
  const warned = vi.spyOn(logger, "warn").mockReturnValue();
  const notOurs = Object.assign(new Error("not permitted"), { code: "EPERM" });
  const chmod = vi.spyOn(fs, "chmod");
  // Named imports from Node are the spy too after this.
  syncBuiltinESMExports();
  for (const mode of [0o700, 0o750]) {
    chmodSync(parent, mode);
    chmod.mockRejectedValueOnce(notOurs);
    await makePrivateFolder(parent);
  }
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(`may open ${parent}, which this`));
});

it.each(databaseKinds)("are closed when the service has started (%s)", async (kind) => {
  const before = process.umask(0);
  const folder = path.join(parent, "data");
  mkdirSync(path.join(folder, "keys"), { recursive: true });
  mkdirSync(path.join(folder, "log-guard"));
  const test = await startTestApp(kind, { DATA_DIR: folder }).finally(() => process.umask(before));
  const names = ["", "keys", "log-guard", ...(kind === "embedded" ? ["pglite"] : [])];
  const modes = names.map((name) => modeOf(path.join(folder, name)));
  await test.close();
  expect(modes).toEqual(names.map(() => "700"));
});
