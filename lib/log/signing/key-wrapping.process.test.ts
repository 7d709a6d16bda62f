/**
 * Keys that a key management service has wrapped: what lies on the disk is ciphertext, requests are signed as the
 * services check it, and whatever goes wrong ends the start with a message, never with another key.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseEnv } from "#lib/env";
import { expectExit } from "#support/commands";
import { anyKind } from "#support/databases";
import {
  awsKey,
  awsSettings,
  googleKey,
  nextAwsKey,
  serviceAccount,
  startKms,
  type TestKms,
} from "#support/kms";
import { attest, closeHomes, isValid, makeHome, run, runBeside, start } from "#support/operator-commands";
import { createKeyWrapping } from "./key-wrapping";

let kms: TestKms;
beforeEach(async () => {
  kms = await startKms();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await closeHomes();
  await kms.close();
});

/** The libraries read the environment of the process. */
function give(settings: Record<string, string>): void {
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
}

const secret = Buffer.alloc(32, 7).toString("base64");

async function googleSettings(): Promise<Record<string, string>> {
  const file = path.join(String((await makeHome("embedded"))["DATA_DIR"]), "account.json");
  writeFileSync(file, JSON.stringify(serviceAccount));
  return { GOOGLE_APPLICATION_CREDENTIALS: file, ...googleAddress() };
}
const googleAddress = () => ({ KEY_WRAPPING_KEY: `google-kms:${googleKey}`, GOOGLE_KMS_URL: kms.url });
/** Hides the credentials of the machine that the tests run on. */
const noGoogleFiles = {
  GOOGLE_APPLICATION_CREDENTIALS: "",
  HOME: "/nonexistent",
  CLOUDSDK_CONFIG: "/nonexistent",
};
const kinds = {
  "AWS KMS": { settings: async () => awsSettings(kms.url), granted: ["Encrypt", "Decrypt"] },
  "Google Cloud KMS with a service account": { settings: googleSettings, granted: ["encrypt", "decrypt"] },
};

describe.each(Object.entries(kinds))("a secret wrapped by %s", (_title, { settings, granted }) => {
  async function open(more = {}) {
    const given = { ...(await settings()), ...more };
    give(given);
    return createKeyWrapping(parseEnv(given));
  }

  it("is opened by it, for what it was wrapped for alone", async () => {
    const wrapping = await open();
    const sealed = await wrapping.seal(secret, "signing-key");
    expect(sealed).toMatch(/^(aws|google)-kms:\S+:[A-Za-z0-9+/]+=*$/);
    expect(sealed).not.toContain(secret.slice(0, 20));
    expect(await wrapping.open(`${sealed}\n`, "signing-key", "SIGNING_KEY")).toBe(secret);
    expect(kms.granted).toEqual(granted);
    await expect(wrapping.open(sealed, "log-signing-key", "LOG_SIGNING_KEY")).rejects.toThrow(
      /^LOG_SIGNING_KEY is wrapped by .*(InvalidCiphertext|Decryption failed).*No other key is used/,
    );
    const changed = sealed.replace(/.(?=.{20}$)/, (letter) => (letter === "A" ? "B" : "A"));
    await expect(wrapping.open(changed, "signing-key", "SIGNING_KEY")).rejects.toThrow(
      /could not be unwrapped/,
    );
  });

  it("is not opened by a disabled key, a foreign one, or one out of reach", async () => {
    const wrapping = await open();
    const sealed = await wrapping.seal(secret, "signing-key");
    const foreign = sealed.replace(/1234abcd|cryptoKeys\/k/, (name) => `${name.slice(0, -1)}x`);
    await expect(wrapping.open(foreign, "signing-key", "F")).rejects.toThrow(/IncorrectKey|NOT_FOUND/);
    kms.disable();
    await expect(wrapping.open(sealed, "signing-key", "F")).rejects.toThrow(/DisabledException|not enabled/);
    await kms.close();
    await expect(wrapping.open(sealed, "signing-key", "F")).rejects.toThrow(/ECONN.*Check that/);
  });

  it("takes the place of plain ones: those are refused, and so is forgetting the setting", async () => {
    const wrapping = await open();
    await expect(wrapping.open(secret, "signing-key", "F")).rejects.toThrow(
      /F holds a plain key.*keys -- wrap/,
    );
    const sealed = await wrapping.seal(secret, "signing-key");
    const without = createKeyWrapping(parseEnv({}));
    await expect(without.open(sealed, "signing-key", "F")).rejects.toThrow(/Set KEY_WRAPPING_KEY/);
    expect(await without.open(secret, "signing-key", "F")).toBe(secret);
  });
});

describe("requests", () => {
  it("to AWS are refused if another secret has signed them", async () => {
    const given = { ...awsSettings(kms.url), AWS_SECRET_ACCESS_KEY: "another" };
    give(given);
    await expect(createKeyWrapping(parseEnv(given)).seal(secret, "u")).rejects.toThrow("InvalidSignature");
    expect(kms.granted).toEqual([]);
  });

  it("wrap a secret again under another key, which needs both keys, and only once", async () => {
    give(awsSettings(kms.url));
    const by = (key: string) => createKeyWrapping(parseEnv({ KEY_WRAPPING_KEY: `aws-kms:${key}` }));
    const old = await by(awsKey).seal(secret, "u");
    const next = (await by(nextAwsKey).rewrap(old, "u", "F")) ?? "";
    expect(next.startsWith(`aws-kms:${nextAwsKey}:`)).toBe(true);
    expect(await by(nextAwsKey).open(next, "u", "F")).toBe(secret);
    expect(await by(nextAwsKey).rewrap(next, "u", "F")).toBeNull();
    await expect(by(awsKey).open(next.replace(nextAwsKey, awsKey), "u", "F")).rejects.toThrow("Invalid");
  });

  it("to Google carry the token of the machine's metadata server if there is no account's file", async () => {
    const machine = { METADATA_SERVER_DETECTION: "assume-present", GCE_METADATA_HOST: new URL(kms.url).host };
    const given = { ...noGoogleFiles, ...googleAddress(), ...machine };
    give(given);
    const wrapping = createKeyWrapping(parseEnv(given));
    expect(await wrapping.open(await wrapping.seal(secret, "u"), "u", "F")).toBe(secret);
    expect(kms.granted).toEqual(["token", "encrypt", "decrypt"]);
  });

  it("to Google are refused if another account has signed them", async () => {
    const given = await googleSettings();
    const file = String(given["GOOGLE_APPLICATION_CREDENTIALS"]);
    writeFileSync(
      file,
      JSON.stringify({ ...serviceAccount, client_email: "other@p.iam.gserviceaccount.com" }),
    );
    give(given);
    await expect(createKeyWrapping(parseEnv(given)).seal(secret, "u")).rejects.toThrow("UNAUTHENTICATED");
    expect(kms.granted).toEqual([]);
  });
});

describe("a service with KEY_WRAPPING_KEY", () => {
  const filesOf = (home: Record<string, string>) => {
    const folder = path.join(String(home["DATA_DIR"]), "keys");
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name), "utf8")]));
  };

  it("goes on with keys that were plain, rotates into wrapped ones, and starts with no others", async () => {
    const plain = await makeHome(anyKind);
    const first = await start(anyKind, plain);
    const { key } = await first.createKey();
    const before = (await attest(first, key)).body;
    await first.app.close();
    const secrets = [...filesOf(plain).values()].map((text) => text.trim());

    const settings = awsSettings(kms.url);
    give(settings);
    const home: Record<string, string> = { ...plain, ...settings };
    await expect(start(anyKind, home)).rejects.toThrow(/holds a plain key/);
    const keys = path.join(String(home["DATA_DIR"]), "keys");
    writeFileSync(path.join(keys, ".signing-key.4711"), secret);
    const elsewhere = await run("keys", ["wrap"], { ...home, DATA_DIR: path.join(keys, "nowhere") });
    expect(elsewhere).toMatchObject({ code: 1, out: expect.stringContaining("There is no key in") });
    const wrapped = await run("keys", ["wrap"], home);
    expectExit(wrapped, 0);
    expect(wrapped.out).toContain("/.signing-key.4711 is removed");
    expect(readdirSync(keys)).not.toContain(".signing-key.4711");
    expect(wrapped.out).toContain("/signing-key is wrapped.");
    for (const text of filesOf(home).values()) {
      expect(text.startsWith(`aws-kms:${awsKey}:`)).toBe(true);
      for (const one of secrets) expect(text + wrapped.out).not.toContain(one);
    }

    const second = await start(anyKind, home);
    const after = (await attest(second, key)).body;
    expect(after.key_id).toBe(before.key_id);
    const rotated = await runBeside(anyKind, second, home, ["keys", ["rotate", "attestation"]]);
    expectExit(rotated, 0);
    const third = (await attest(rotated.test, key)).body;
    expect(third.key_id).not.toBe(before.key_id);
    expect(await isValid(rotated.test, before.attestation_id)).toBe(true);
    expect(filesOf(home).get("signing-key")).toContain(`aws-kms:${awsKey}:`);
    await rotated.test.app.close();

    const kept = filesOf(home);
    const folder = path.join(String(home["DATA_DIR"]), "keys");
    writeFileSync(path.join(folder, "signing-key"), String(kept.get("log-signing-key")));
    await expect(start(anyKind, home)).rejects.toThrow(/signing-key is wrapped.*InvalidCiphertext/);
    writeFileSync(path.join(folder, "signing-key"), String(kept.get("signing-key")));
    kms.disable();
    await expect(start(anyKind, home)).rejects.toThrow(/DisabledException.*No other key is used/);
    expect(filesOf(home)).toEqual(kept);
  });

  it("generates the first keys wrapped, and takes wrapped ones from settings", async () => {
    const settings = awsSettings(kms.url);
    give(settings);
    const { DATA_DIR = "", ...database } = await makeHome(anyKind);
    const other = await run("keys", ["wrap"], { DATA_DIR, ...settings, SIGNING_KEY: secret });
    const [, SIGNING_KEY = ""] = /^Set SIGNING_KEY=(.+)$/m.exec(other.out) ?? [];
    const home = { DATA_DIR, ...database, ...settings, SIGNING_KEY };
    const test = await start(anyKind, home);
    const { key } = await test.createKey();
    expect((await attest(test, key)).status).toBe(201);
    const files = filesOf(home);
    expect([...files.keys()].sort()).toEqual(expect.arrayContaining(["auth-secret", "log-signing-key"]));
    expect(files.has("signing-key")).toBe(false);
    for (const text of files.values()) expect(text).toContain(`aws-kms:${awsKey}:`);
  });
});
