/** Guarantee: a process that finds no AUTH_SECRET for a database in use makes none, and names what is missing. */
import { rename } from "node:fs/promises";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { anyKind } from "#support/databases";
import { closeHomes, makeHome, start } from "#support/operator-commands";
import { authSecretFile } from "./key-source";

afterEach(closeHomes);

it("a lost AUTH_SECRET is not made again", async () => {
  const home = await makeHome(anyKind);
  await (await start(anyKind, home)).close();
  const file = path.join(String(home["DATA_DIR"]), "keys", authSecretFile);
  await rename(file, `${file}.lost`);
  await expect(start(anyKind, home)).rejects.toThrow(
    `AUTH_SECRET is not set and the file ${file} is missing`,
  );
  await rename(`${file}.lost`, file);
  await start(anyKind, home);
});
