/** A folder or port that a start can't use has it named: the place, the reason, and what to do. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { describeBinding } from "#lib/api/http/listen";
import { parseEnv } from "#lib/env";
import { type ObjectStore, openStore, requireConditions } from "#lib/log/object-storage/object-store";
import { openLog } from "./open-parts";

const folder = mkdtempSync(path.join(tmpdir(), "countersign-folder-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("names a DATA_DIR that isn't a folder, and a folder in it that isn't one", async () => {
  const file = path.join(folder, "file");
  writeFileSync(file, "");
  const words = (place: string) => `Countersign cannot start: the folder ${place} can't be used (E`;
  for (const at of [file, path.join(file, "inner")])
    await expect(openLog(parseEnv({ DATA_DIR: at }))).rejects.toThrow(words(at));
  writeFileSync(path.join(folder, "keys"), "");
  await expect(openLog(parseEnv({ DATA_DIR: folder }))).rejects.toThrow(
    /keys can't be used .*Make it a folder that belongs to the user who runs Countersign, or set DATA_DIR/,
  );
});

it.runIf(process.platform === "linux")("refuses a folder below /proc, which makes none", async () => {
  const away = "/proc/countersign/data";
  await expect(openLog(parseEnv({ DATA_DIR: away }))).rejects.toThrow(
    `the folder ${path.dirname(away)} can't be used (ENOENT)`,
  );
  const store = await openStore(`file:${away}`, { LOG_STORE_ENDPOINT: undefined });
  await expect(requireConditions(store as ObjectStore)).rejects.toThrow(
    `the store ${away} (LOG_STORE) can't be used (ENOENT)`,
  );
});

it("names a port that this user may not have", () => {
  const refuse = describeBinding({ PORT: 80, HOST: undefined });
  expect(() => refuse(Object.assign(new Error(), { code: "EACCES" }))).toThrow(
    /PORT 80\. Set a PORT from 1024/,
  );
});
