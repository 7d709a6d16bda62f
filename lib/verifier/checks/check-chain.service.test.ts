/** Guarantee: a chain of authority across two instances is followed from files alone, and every break in it is named. */
import { beforeAll, describe, expect, it } from "vitest";
import { parseTrust } from "#lib/verifier/checks/trust";
import type { TestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { runVerifier } from "#support/verifier-run";
import { checkChain } from "./check-chain";

// biome-ignore lint/suspicious/noExplicitAny: answers as they come
type Json = any;

const one = setupTestApp(anyKind, { LOG_ORIGIN: "one.example/log" });
const two = setupTestApp(anyKind, { LOG_ORIGIN: "two.example/log" });
const [keyOne, keyTwo] = [one.key, two.key];
const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const body = { agent_slug: "chained", inputs_hash: "x" };

async function attest(test: TestApp, key: string, more: object): Promise<Json> {
  const answer = await test.call("POST", "/v1/attest", { key, body: { ...body, ...more } });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}
const linkTo = ({ attestation_id: id, payload_hash, log: { origin } }: Json) => ({
  id,
  payload_hash,
  origin,
});
const read = async (test: TestApp, { attestation_id: id }: Json, key?: string) =>
  JSON.stringify((await test.call("GET", `/v1/verify/${id}`, key === undefined ? {} : { key })).body);

let made: Json[];
let files: string[];
let trusts: ReturnType<typeof parseTrust>[];

beforeAll(async () => {
  const first = await attest(one.test, keyOne, { action: "Order 20 chairs", agent_slug: "buyer" });
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  const second = await attest(two.test, keyTwo, {
    action: "Reserve",
    parent: linkTo(first),
    traceparent,
    is_public: false,
  });
  const third = await attest(one.test, keyOne, { action: "Pay the deposit", parent: linkTo(second) });
  made = [third, second, first];
  files = [await read(one.test, third), await read(two.test, second, keyTwo), await read(one.test, first)];
  trusts = await Promise.all(
    [one.test, two.test].map(async (test) => parseTrust((await test.call("GET", "/v1/pubkey")).body)),
  );
});

const follow = async (texts: readonly string[], given = trusts) => {
  const { verdict, checks } = await checkChain(texts, given);
  return [verdict, checks.at(-1)?.reason];
};
const changed = (text: string, change: (json: Json) => void) => {
  const json = JSON.parse(text);
  change(json);
  return JSON.stringify(json);
};

describe("a chain of authority", () => {
  it("leads across instances to its beginning, in whatever order the files come", async () => {
    expect(await follow(files)).toEqual(["valid", undefined]);
    const [third = "", second = "", first = ""] = files;
    expect(await follow([third, first, second])).toEqual(["valid", undefined]);
    const { links } = await checkChain(files, trusts);
    expect(links.map(({ agent_slug, origin }) => [agent_slug, origin])).toEqual([
      ["chained", "one.example/log"],
      ["chained", "two.example/log"],
      ["buyer", "one.example/log"],
    ]);
    expect(links[1]?.traceparent).toContain(trace);
  });

  it("names what is missing, and whose content was not opened", async () => {
    const [third = "", second = "", first = ""] = files;
    expect(await follow([third, second])).toEqual(["incomplete", "chain_file_absent"]);
    const closed = await read(two.test, made[1]);
    expect(closed).not.toContain("Reserve");
    expect(await follow([third, closed])).toEqual(["incomplete", "chain_payload_absent"]);
    expect(
      await follow([
        third,
        second,
        first,
        await read(one.test, await attest(one.test, keyOne, { action: "a" })),
      ]),
    ).toEqual(["invalid", "chain_stray"]);
  });

  it("is never simply valid with a link whose approval was taken out, or that has warnings", async () => {
    const action = "Pay the deposit";
    const asked = await ask(one.test, keyOne, { agent_slug: "chained", action, inputs_hash: "x" });
    await asked.approve("ada");
    const { human_authorization } = (await asked.read(keyOne)).body;
    const backed = await attest(one.test, keyOne, { action, human_authorization });
    const whole = await read(one.test, backed);
    const report = await checkChain([whole], trusts);
    expect(report).toMatchObject({ verdict: "valid", links: [{ missing: [], warnings: ["approval_test"] }] });
    expect(report.checks[0]?.detail).toContain("warnings: approval_test");
    const without = changed(whole, (json) => {
      delete json.human_authorization;
    });
    expect(await checkChain([without], trusts)).toMatchObject({
      verdict: "incomplete",
      links: [{ missing: ["human_authorization"] }],
    });
  });

  it("does not hold with a file that fails, another attestation in its place, or keys of one instance alone", async () => {
    const [third = "", second = "", first = ""] = files;
    const forged = changed(second, (json) => {
      json.payload = json.payload.replace("Reserve", "Release");
    });
    expect(await follow([third, forged, first])).toEqual(["invalid", "chain_link_invalid"]);
    const claim = async (parent: object) =>
      read(one.test, await attest(one.test, keyOne, { action: "Pay", parent }));
    const link = linkTo(made[2]);
    for (const lie of [{ payload_hash: "ab".repeat(32) }, { origin: "two.example/log" }])
      expect(await follow([await claim({ ...link, ...lie }), first]), JSON.stringify(lie)).toEqual([
        "invalid",
        "chain_broken",
      ]);
    await expect(checkChain(files, trusts.slice(0, 1))).rejects.toThrow(
      "no keys are given for the log two.example/log",
    );
    await expect(checkChain([third, third], trusts)).rejects.toThrow("twice");
  });

  it("is signed only where it is sent: nothing else changes", async () => {
    const plain = await attest(one.test, keyOne, { action: "alone" });
    expect(plain.payload).not.toMatch(/parent/);
    for (const wrong of [
      { parent: { id: "x", payload_hash: "ab".repeat(32), origin: "o" } },
      { parent: { ...linkTo(plain), note: "" } },
      { parent: { ...linkTo(plain), payload_hash: "AB".repeat(32) } },
      { traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` },
      { traceparent: `01-${trace}-00f067aa0ba902b7-01` },
    ])
      expect(
        (await one.test.call("POST", "/v1/attest", { key: keyOne, body: { ...body, action: "a", ...wrong } }))
          .status,
        JSON.stringify(wrong),
      ).toBe(422);
  });

  it("is followed by the command, offline", async () => {
    const contents = new Map(files.map((text, i) => [`${i}.json`, text]));
    for (const [i, { test }] of [one, two].entries())
      contents.set(`keys-${i}.json`, JSON.stringify((await test.call("GET", "/v1/pubkey")).body));
    const offline = () => Promise.reject(new Error("the network was asked"));
    const chain = (...argv: string[]) => runVerifier(["chain", ...argv], offline, contents);
    const keys = ["--keys", "keys-0.json", "--keys", "keys-1.json"];
    expect(await chain("0.json", "1.json", "2.json", ...keys)).toEqual({
      code: 0,
      out: expect.stringContaining("by authority of buyer (one.example/log): Order 20 chairs"),
    });
    expect((await chain("0.json", "1.json", ...keys)).code).toBe(3);
    expect((await chain("0.json")).code).toBe(2);
  });
});
