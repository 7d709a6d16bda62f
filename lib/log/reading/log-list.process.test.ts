/** Two services side by side, each with a database, keys and a log of its own: one list, and every receipt leads home. */
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handleApiRequest } from "#lib/server/next/node-http";
import type { TestApp } from "#support/app";
import { expectExit } from "#support/commands";
import { anyKind } from "#support/databases";
import { type Listening, listen } from "#support/listen";
import { closeHomes, makeHome, run, start } from "#support/operator-commands";
import { runHere } from "#support/verifier-run";
import { openLogList } from "./log-list";

interface Service {
  site: Listening;
  home: Record<string, string>;
  test: TestApp;
}

const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-log-list-"));
const inFolder = (name: string) => path.join(folder, name);
const pair = generateKeyPairSync("ed25519");
const services: Service[] = [];

async function openService(): Promise<Service> {
  const service = { test: undefined as TestApp | undefined };
  const site = await listen((request, response) => {
    service.test?.use();
    return handleApiRequest(request, response);
  });
  const home = { ...(await makeHome(anyKind)), PUBLIC_BASE_URL: site.base };
  const test = await start(anyKind, home);
  return Object.assign(service, { site, home, test });
}

const makeList = (...urls: string[]) => {
  const command = ["list", folder, "--key-file", inFolder("key.pem"), ...urls];
  return run("log", command, {});
};

const readList = () => JSON.parse(readFileSync(inFolder("log-list.json"), "utf8"));
const [first, second] = [0, 1].map((at) => () => services[at] as Service) as [() => Service, () => Service];
const receipts: Record<"first" | "second", { id: string; file: string }> = {
  first: { id: "", file: inFolder("first.json") },
  second: { id: "", file: inFolder("second.json") },
};

async function attestAt({ site, test }: Service, receipt: { id: string; file: string }): Promise<void> {
  const { key } = await test.createKey();
  const body = { agent_slug: "same-name", action: `Act at ${site.base}`, inputs_hash: "x" };
  const { status, body: made } = await test.call("POST", "/v1/attest", { key, body });
  expect(status).toBe(201);
  receipt.id = made.attestation_id;
  writeFileSync(receipt.file, JSON.stringify((await test.call("GET", `/v1/verify/${receipt.id}`)).body));
}

/** Without a network. */
const verifyOffline = (file: string, list = inFolder("log-list.json")) =>
  runHere([file, "--keys", list], { fetch: () => Promise.reject(new Error("offline")) });

beforeAll(async () => {
  writeFileSync(inFolder("key.pem"), pair.privateKey.export({ format: "pem", type: "pkcs8" }));
  services.push(await openService(), await openService());
  expect((await first().test.call("GET", "/.well-known/log-list.json")).status).toBe(404);
  expectExit(await makeList(first().site.base, `${second().site.base}/`), 0);
  for (const service of services) {
    await service.test.app.close();
    service.test = await start(anyKind, { ...service.home, LOG_LIST: folder });
  }
  await attestAt(first(), receipts.first);
  await attestAt(second(), receipts.second);
});
afterAll(async () => {
  for (const { site } of services) await site.close();
  await closeHomes();
  rmSync(folder, { recursive: true });
});

describe("logs side by side", () => {
  it("are in one signed list, which each of them shows", async () => {
    const file = readFileSync(inFolder("log-list.json"));
    const signature = readFileSync(inFolder("log-list.sig"));
    expect(verify(null, file, pair.publicKey, signature)).toBe(true);
    for (const { site } of services) {
      const shown = await fetch(`${site.base}/.well-known/log-list.json`);
      expect(Buffer.from(await shown.arrayBuffer())).toEqual(file);
      const signed = await fetch(`${site.base}/.well-known/log-list.sig`);
      expect(Buffer.from(await signed.arrayBuffer())).toEqual(signature);
    }
    const { operators } = readList();
    const logs = operators[0].tiled_logs;
    expect(logs).toMatchObject(
      services.map(({ site }, at) => ({
        number: at + 1,
        origin: `${new URL(site.base).host}/log`,
        submission_url: `${site.base}/`,
        monitoring_url: `${site.base}/log/`,
        state: { usable: {} },
      })),
    );
    expect(new Set(logs.map(({ log_id }: { log_id: string }) => log_id)).size).toBe(2);
    const der = Buffer.from(logs[0].key, "base64");
    expect(createPublicKey({ key: der, format: "der", type: "spki" }).asymmetricKeyType).toBe("ed25519");
  });

  it("have an attestation each, and both are verified offline with the list alone", async () => {
    expect(receipts.first.id).toMatch(/01$/);
    expect(receipts.second.id).toMatch(/02$/);
    for (const { file } of Object.values(receipts)) {
      const { code, out: text } = await verifyOffline(file);
      expect([code, text]).toEqual([0, expect.stringContaining("Keys: pinned")]);
    }
  });

  it("trust each other's keys in nothing: a key counts in its own log alone", async () => {
    const list = readList();
    const [one, two] = list.operators[0].tiled_logs;
    two.attestation_keys = one.attestation_keys;
    writeFileSync(inFolder("exchanged.json"), JSON.stringify(list));
    expect((await verifyOffline(receipts.first.file, inFolder("exchanged.json"))).code).toBe(0);
    expect((await verifyOffline(receipts.second.file, inFolder("exchanged.json"))).code).toBe(1);
    // All keys under the first log: the second's are worth nothing there, whatever log they name.
    one.attestation_keys.push(...readList().operators[0].tiled_logs[1].attestation_keys);
    two.attestation_keys = [];
    writeFileSync(inFolder("exchanged.json"), JSON.stringify(list));
    expect((await verifyOffline(receipts.first.file, inFolder("exchanged.json"))).code).toBe(0);
    expect((await verifyOffline(receipts.second.file, inFolder("exchanged.json"))).code).toBe(1);
  });

  it("send whoever asks the wrong one to the right one, once", async () => {
    const { id } = receipts.second;
    const asked = `${first().site.base}/v1/verify/${id}`;
    expect(await (await fetch(asked)).json()).toMatchObject({ valid: true, attestation_id: id });
    for (const part of ["", "/bundle", "/payload", "/anchors"]) {
      const answer = await fetch(`${asked}${part}`, { redirect: "manual" });
      expect([part, answer.status]).toEqual([part, 307]);
      expect(answer.headers.get("location")).toBe(`${second().site.base}/v1/verify/${id}${part}`);
    }
    const unknown = (ending: string) => `${id.slice(0, -12)}0000000000${ending}`;
    const statusAt = async ({ site }: Service, ending: string) =>
      (await fetch(`${site.base}/v1/verify/${unknown(ending)}`, { redirect: "manual" })).status;
    expect(await statusAt(first(), "01")).toBe(404);
    expect(await statusAt(first(), "09")).toBe(404);
    expect(await statusAt(first(), "02")).toBe(307);
    expect(await statusAt(second(), "02")).toBe(404);
    expect(await statusAt(second(), "01")).toBe(307);
  });

  it("keep their numbers in the next list, and start only if they are in it", async () => {
    expectExit(await makeList(second().site.base, first().site.base), 0);
    const numbers = readList().operators[0].tiled_logs.map(({ number }: { number: number }) => number);
    expect(numbers).toEqual([1, 2]);
    const stranger = { ...(await makeHome(anyKind)), LOG_LIST: folder };
    await expect(start(anyKind, stranger)).rejects.toThrow(/does not have the log localhost:3000\/log/);
  });

  it("name the setting if their copy of the list was cut off or is another file", async () => {
    const copy = mkdtempSync(path.join(os.tmpdir(), "countersign-log-list-copy-"));
    writeFileSync(path.join(copy, "log-list.sig"), readFileSync(inFolder("log-list.sig")));
    for (const text of [readFileSync(inFolder("log-list.json"), "utf8").slice(0, -9), "{}"]) {
      writeFileSync(path.join(copy, "log-list.json"), text);
      await expect(openLogList(copy, "localhost:3000/log")).rejects.toThrow(/LOG_LIST \(.* can't be read/);
    }
    rmSync(copy, { recursive: true });
  });

  it("aren't listed if one of them can't be reached or its checkpoint isn't signed by its key", async () => {
    const before = readFileSync(inFolder("log-list.json"));
    const liar = await listen((request, response) => {
      const log = {
        origin: "liar/log",
        vkey: readList().operators[0].tiled_logs[0].vkey,
        url: `${liar.base}/log`,
      };
      const isKeys = request.url === "/v1/pubkey";
      response.end(
        isKeys ? JSON.stringify({ keys: [], logs: [log] }) : "liar/log\n0\nAAAA\n\n— liar/log AAAA\n",
      );
    });
    const refused = await makeList(liar.base);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain("/log/checkpoint:");
    await liar.close();
    expect((await makeList(liar.base)).code).toBe(1);
    expect(readFileSync(inFolder("log-list.json"))).toEqual(before);
  });
});
