/** A program whose clock tests can set, by Debian's faketime: the clock of the day alone, not the one that counts. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { installPackage } from "#ci/debian";

export interface MovedClock {
  settings: Record<string, string>;
  /** From now on, against this machine's. */
  set(seconds: number): void;
  close(): void;
}

const findLibrary = () =>
  ["x86_64-linux-gnu", "aarch64-linux-gnu"]
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`)
    .find((file) => existsSync(file));

/** Why there can be none here; null if there can. */
export function whyNoMovedClock(): string | null {
  if (process.platform !== "linux") return "faketime is for Linux here";
  if (findLibrary() === undefined) installPackage("faketime");
  return findLibrary() === undefined ? "faketime is not installed (apt-get install faketime)" : null;
}

export function openMovedClock(): MovedClock {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-clock-"));
  const file = path.join(folder, "offset");
  const set = (seconds: number) => writeFileSync(file, `${seconds < 0 ? "" : "+"}${seconds}`);
  set(0);
  const settings = {
    LD_PRELOAD: findLibrary() ?? "",
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  return { settings, set, close: () => rmSync(folder, { recursive: true, force: true }) };
}
