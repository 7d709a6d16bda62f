/**
 * One receipt of every kind, for tests and the golden receipts, made by the whole service through its API. The
 * human_authorization carries a real Groth16 proof of the local stand-in.
 */

import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import type { TestApp } from "./app";
import { ask, fromPage, openRequest } from "./authorizations";
import { enrolGroup } from "./enrol";

export type ReceiptSamples = Record<string, unknown>;

const agent = createLocalSigner(base64Encode(new Uint8Array(32).fill(21)), "the agent's test key");

const whole: JsonObject = {
  agent_slug: "treasurer",
  action: "Pay 12,000 EUR to Example GmbH",
  inputs_hash: "sha256:aa00000000000000000000000000000000000000000000000000000000000000",
  metadata: { invoice: "2026-114", amount: 12000.5, tags: ["urgent", "€"], approved: false },
  code_hash: "git:3f2a",
  model_id: "model-1",
  tools_used: ["bank.transfer"],
  client: { instance: "worker-1", sequence: 1 },
};

async function expectStatus(call: Promise<{ status: number; body: unknown }>, status: number) {
  const answer = await call;
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  // biome-ignore lint/suspicious/noExplicitAny: answers as they come
  return answer.body as any;
}

/** Keyed by name; texts are files, everything else JSON. */
export async function makeReceiptSamples(test: TestApp, key: string): Promise<ReceiptSamples> {
  const attest = (body: object) => expectStatus(test.call("POST", "/v1/attest", { key, body }), 201);
  const read = (id: string, file = "", options: { key?: string } = {}) =>
    expectStatus(test.call("GET", `/v1/verify/${id}${file}`, options), 200);
  const simple = { agent_slug: "invoice-bot", action: "Sent invoice 2026-114", inputs_hash: "sha256:abc" };
  const plain = await attest(simple);
  const hash = await attest({
    ...simple,
    human_approved: true,
    human_approver_hash: "sha256:cafe",
    client: { instance: "worker-1", sequence: 3 },
  });
  const { full, authorization } = await makeFull(test, key, attest);
  const decided = await makeDecided(test, key, attest);
  const hidden = await attest({ ...simple, is_public: false, enable_zk: true });
  const erased = await attest({ ...simple, action: "Told a secret" });
  await expectStatus(test.call("DELETE", `/v1/attestations/${erased.attestation_id}/content`, { key }), 200);
  const presentation = await expectStatus(
    test.call("POST", `/v1/attestations/${hidden.attestation_id}/presentations`, {
      key,
      body: { disclose: ["action", "human_approved"], audience: "https://bank.example", nonce: "n-1" },
    }),
    201,
  );
  return {
    "attest-answer": plain,
    plain: await read(plain.attestation_id),
    "hash-approved": await read(hash.attestation_id),
    "human-approved": await read(full),
    "human-authorization": authorization,
    "enrolled-approved": await read(decided.enrolled),
    "amended-approved": await read(decided.amended),
    "standing-approved": await read(decided.standing),
    "rule-approved": await read(decided.rule),
    private: await read(hidden.attestation_id),
    "private-as-owner": await read(hidden.attestation_id, "", { key }),
    erased: await read(erased.attestation_id),
    presentation: presentation.presentation ?? presentation,
    bundle: await read(plain.attestation_id, "/bundle"),
    "tlog-proof": await read(plain.attestation_id, "/tlog-proof"),
  };
}

/** A registered agent that signs, its tools and code, a human's approval and a zero-knowledge proof. */
async function makeFull(
  test: TestApp,
  key: string,
  attest: (body: object) => Promise<{ attestation_id: string }>,
) {
  const identity = {
    slug: "treasurer",
    public_key: base64Encode(agent.publicKey),
    code_hash: "git:3f2a",
    tools: ["bank.transfer", "ledger.read"],
  };
  await expectStatus(test.call("POST", "/v1/identity/register", { key, body: identity }), 201);
  const asked = await ask(test, key, { context: { invoice: "2026-114" }, inputs_hash: whole["inputs_hash"] });
  await expectStatus(asked.approve("ada"), 200);
  const { body: state } = await asked.read(key);
  const body = { ...whole, enable_zk: true, human_authorization: state.human_authorization as JsonObject };
  const signature = agent.sign(canonicalBytes(signedRequest(body)));
  const made = await attest({ ...body, agent_signature: base64Encode(signature) });
  return { full: made.attestation_id, authorization: state.human_authorization };
}

/** Makes receipts decided by two of finance with their passkeys, by a standing approval and by a rule. */
async function makeDecided(
  test: TestApp,
  key: string,
  attest: (body: object) => Promise<{ attestation_id: string }>,
) {
  const { context } = test.app;
  const people = await enrolGroup(test, "dev@example.com", "finance", "Carol", "Dave");
  const attestWith = async (asked: Pick<Awaited<ReturnType<typeof ask>>, "read">) => {
    const { body: state } = await asked.read(key);
    const { agent_slug, action, human_authorization } = state;
    const made = await attest({ agent_slug, action, inputs_hash: "sha256:abc", human_authorization });
    return made.attestation_id;
  };
  const required = { required_approvers: [{ group: "finance", count: 2 }], required_level: "none" };
  const amount = { value: "12000.5", currency: "EUR" };
  const byTwo = await ask(test, key, { tool: "bank.transfer", amount, ...required });
  const hash = (await readApprovalView(context, byTwo.token))?.binding.request_hash ?? "";
  for (const { passkey } of people) {
    const { public_key: _key, ...sent } = passkey.assert(approvalChallenge(hash, "approve"));
    const page = { headers: fromPage, body: { passkey: sent } };
    await expectStatus(test.call("POST", `/approve/${byTwo.token}/passkey`, page), 200);
  }
  const enrolled = await attestWith(byTwo);
  const amended = await attestWith(
    await makeAmended(test, key, people, { tool: "bank.transfer", amount, ...required }),
  );
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const terms = { tools: ["mail.send"], max_calls: 20, expires_at };
  const granted = await ask(test, key, { action: "Send up to 20 mails", grant: terms });
  await expectStatus(granted.approve("ada"), 200);
  const standing = await attestWith(await ask(test, key, { action: "Send a mail", tool: "mail.send" }));
  const text = `@id("reading") permit (principal, action == Action::"act", resource == Tool::"ledger.read");`;
  await expectStatus(test.call("PUT", "/v1/rules", { key, body: { text, mode: "enforce" } }), 200);
  const rule = await attestWith(await ask(test, key, { action: "Read the ledger", tool: "ledger.read" }));
  await expectStatus(test.call("PUT", "/v1/rules", { key, body: { text, mode: "off" } }), 200);
  return { enrolled, amended, standing, rule };
}

/** Two of finance approve what the first of them made of the request. */
async function makeAmended(
  test: TestApp,
  key: string,
  people: Awaited<ReturnType<typeof enrolGroup>>,
  more: object,
) {
  const asked = await ask(test, key, {
    ...more,
    context: { payee: "Example Ltd" },
    amendable: ["amount", "context.payee"],
  });
  const send = async (token: string, what: string, person: (typeof people)[number], body: object) => {
    const hash = (await readApprovalView(test.app.context, token))?.binding.request_hash ?? "";
    const decision = what === "amend" ? "amend" : "approve";
    const { public_key: _key, ...passkey } = person.passkey.assert(approvalChallenge(hash, decision));
    const page = { headers: fromPage, body: { passkey, ...body } };
    return expectStatus(test.call("POST", `/approve/${token}/${what}`, page), 200);
  };
  const [first] = people;
  if (first === undefined) throw new Error("nobody is enrolled");
  const changes = { amount: "9000", "context.payee": "Example GmbH" };
  const made = await send(asked.token, "amend", first, { changes });
  const opened = openRequest(test, made);
  for (const person of people) await send(opened.token, "passkey", person, {});
  return { made, ...opened };
}
