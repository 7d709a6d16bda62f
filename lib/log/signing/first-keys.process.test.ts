/** A process that reads its keys while a rotation goes on finds the new one, at whatever moment it happens. */
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { parseEnv } from "#lib/env";
import { expectExit } from "#support/commands";
import { anyKind, databaseKinds } from "#support/databases";
import { closeHomes, makeHome, run, start } from "#support/operator-commands";
import { type KeySource, openSecretFiles, reloadSigners } from "./first-keys";
import { createKeySource } from "./key-source";
import { createKeyWrapping } from "./key-wrapping";
import { createSigningKeys } from "./signing-keys";

afterEach(closeHomes);

it("published keys are read again within a second after the clock was set back", async () => {
  const { app } = await start(anyKind, await makeHome(anyKind));
  const { database, keys } = app.context;
  const { signer, logSigner } = keys;
  let nowMs = Date.now();
  const read = createSigningKeys(
    database,
    { signer, logSigner, zkSeed: new Uint8Array() },
    () => Promise.reject(),
    () => new Date(nowMs),
  );
  const before = await read.published();
  expect(await read.published()).toBe(before);
  nowMs -= 3_600_000;
  expect(await read.published()).not.toBe(before);
});

describe.skipIf(!databaseKinds.includes("postgres"))("keys that are read during a rotation", () => {
  it.each(["load", "loadNext"] as const)("are the new ones if it happens right after %s", async (moment) => {
    const home = await makeHome("postgres");
    const { app } = await start("postgres", home);
    const { database, keys } = app.context;
    const old = keys.signer.keyId;
    const env = parseEnv(home);
    const wrapping = createKeyWrapping(env);
    const files = openSecretFiles(path.join(String(home["DATA_DIR"]), "keys"), wrapping);
    const source = createKeySource(env, files, wrapping);
    let rotations = 0;
    const readAndRotate: KeySource["load"] = async () => {
      const found = await source[moment]();
      rotations += 1;
      if (rotations === 1) expectExit(await run("keys", ["rotate", "attestation"], home), 0);
      return found;
    };
    const { signer } = await reloadSigners(database, { ...source, [moment]: readAndRotate });
    expect(rotations).toBe(2);
    expect(signer.keyId).not.toBe(old);
    await keys.reload();
    expect(signer.keyId).toBe(keys.signer.keyId);
  });
});
