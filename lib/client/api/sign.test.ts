/** Signs and sends the arguments as given at the call, even if they change afterwards. */
import { describe, expect, it } from "vitest";
import { createCountersign } from "#lib/client/create";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { type AgentKey, signAgentRequest } from "./inputs";
import type { AttestRequest } from "./wire";

const request: AttestRequest = { agent_slug: "a", action: "first", inputs_hash: "c", metadata: { n: 1 } };

/** A service that takes everything, but not what has `refused` as its number in the order of arrival. */
function start(refused?: number) {
  const sent: (AttestRequest & { attestations?: AttestRequest[] })[] = [];
  const fetch = async (_url: string, { body }: RequestInit) => {
    sent.push(JSON.parse(String(body)));
    if (sent.length === refused) return new Response("{}", { status: 400 });
    const results = sent.at(-1)?.attestations?.map(() => ({ status: 201, body: {} }));
    return Response.json({ results });
  };
  return { sent, client: createCountersign({ baseUrl: "https://countersign.example", fetch }) };
}

describe("an attestation", () => {
  it("is sent as its agent has signed it, though the key is slow and the request changes", async () => {
    const { client, sent } = start();
    const signed: string[] = [];
    const agentKey: AgentKey = async (message) => {
      signed.push(utf8Decode(message));
      await new Promise((resolve) => setImmediate(resolve));
      return new Uint8Array(64);
    };
    const reused = structuredClone(request);
    const made = client.attest(reused, { agentKey });
    reused.action = "second";
    if (reused.metadata) reused.metadata["n"] = 2;
    await made;
    let read = 0;
    const clock = { toJSON: () => ++read } as never;
    await client.attest({ ...request, metadata: { clock } }, { agentKey });
    expect(sent.map(({ agent_signature: _, ...body }) => canonicalJson(body as never))).toEqual(signed);
    expect(sent.map(({ action, metadata }) => [action, metadata])).toEqual([
      ["first", { n: 1 }],
      ["first", { clock: 1 }],
    ]);
  });

  it("is counted as it was when it was given, however long the one before takes", async () => {
    const { client, sent } = start();
    const attest = client.counting("worker");
    const reused = { ...request };
    const made = ["one", "two", "three"].map((action) => attest(Object.assign(reused, { action })));
    const unwritable = attest({ ...request, metadata: { n: 1n } as never });
    await expect(unwritable).rejects.toThrow(TypeError);
    await Promise.all([...made, attest(request)]);
    expect(sent.map(({ action, client: counted }) => [action, counted?.sequence])).toEqual([
      ["one", 1],
      ["two", 2],
      ["three", 3],
      ["first", 4],
    ]);
  });

  it("of many has a result, though the list is emptied and its objects are used again", async () => {
    const { client, sent } = start(3);
    const reused = { ...request };
    const list = Array.from({ length: 250 }, () => reused);
    const made = client.attestMany(list);
    list.length = 0;
    reused.action = "second";
    const results = await made;
    expect(results.map(({ status }) => status)).toEqual([
      ...Array(200).fill("fulfilled"),
      ...Array(50).fill("rejected"),
    ]);
    expect(new Set(sent.flatMap(({ attestations }) => attestations?.map(({ action }) => action)))).toEqual(
      new Set(["first"]),
    );
  });
});

it.each([
  ["text that is none", "secret"],
  ["too few bytes", new Uint8Array(31)],
  ["base64 of too few", btoa("x".repeat(31))],
  ["a key pair", new Uint8Array(64)],
  ["an object", { secret: 1 } as never],
])("a key is not %s, which no error shows", async (_, key) => {
  const error = await signAgentRequest(request, key).catch((thrown: unknown) => thrown);
  expect(error).toEqual(new TypeError("agent key: must be Ed25519, as PEM, 32 bytes or base64"));
});
