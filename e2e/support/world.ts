/** World for tests: a portal with configurable answers, and a node of World Chain that answers as the contracts do. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import { hashSignal, type WorldProofV4, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { publicInputsV4 } from "#lib/verifier/checks/check-world-proof";
import { compressProof, makeTrapdoorKey } from "./groth16";

const trapdoor = makeTrapdoorKey(15);
const keys = {
  issuer_public_key: [wordHex(3n), wordHex(4n)] as [string, string],
  oprf_public_key: [wordHex(5n), wordHex(6n)] as [string, string],
};
export const knownRoot = 1000n;
export const testRpId = "rp_00000000000000ff";

const words = (...values: bigint[]) => `0x${values.map((value) => wordHex(value).slice(2)).join("")}`;

/** Keyed by selector: answers of the verifier's registries for one valid root, one issuer and one RP. */
const answers: Record<string, (argument: bigint) => string> = {
  "0xc6c15ae0": () => words(0xaan),
  "0x340eb98f": () => words(0xbbn),
  "0x1dfc0cea": () => words(0xccn),
  "0x2cdabbce": (root) => words(root === knownRoot ? 1n : 0n),
  "0x94db8bd2": () => words(3n, 4n),
  "0x7488e8e7": () => words(5n, 6n),
};

function answerRpc({ method, params }: { method: string; params: unknown[] }): object {
  if (method === "eth_chainId") return { result: "0x1e0" };
  if (method === "eth_getBlockByNumber")
    return { result: { number: "0x10", hash: wordHex(77n), timestamp: "0x6b000000" } };
  const { data } = params[0] as { data: string };
  const argument = data.length > 10 ? BigInt(`0x${data.slice(10)}`) : 0n;
  return { result: answers[data.slice(0, 10)]?.(argument) ?? "0x" };
}

export interface WorldStub {
  settings: Record<string, string>;
  /** Requests that the portal has received. */
  asked: {
    responses: { nullifier: string; identifier: string; signal_hash: string }[];
    action: string;
    environment: string;
  }[];
  /** Undefined: yes to everything. */
  reply: ((body: WorldStub["asked"][number]) => { status: number; body: object }) | undefined;
  close(): Promise<void>;
}

function sayYes({ responses }: WorldStub["asked"][number]): { status: number; body: object } {
  const results = responses.map(({ identifier, nullifier }) => ({ identifier, nullifier, success: true }));
  return { status: 200, body: { success: true, results } };
}

export async function startWorldStub(): Promise<WorldStub> {
  const server: Server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const isRpc = incoming.url === "/rpc";
    if (!isRpc) stub.asked.push(body);
    const answer = isRpc ? { status: 200, body: answerRpc(body) } : (stub.reply ?? sayYes)(body);
    outgoing
      .writeHead(answer.status, { "content-type": "application/json" })
      .end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stub: WorldStub = {
    settings: {
      WORLD_APP_ID: "app_test",
      WORLD_RP_ID: testRpId,
      WORLD_RP_SIGNING_KEY: "22".repeat(32),
      WORLD_PORTAL_URL: base,
      WORLD_CHAIN_RPC_URL: `${base}/rpc`,
      WORLD_ID_V4_VERIFYING_KEY: JSON.stringify(trapdoor.json),
    },
    asked: [],
    reply: undefined,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return stub;
}

/** A v4 result whose pairing is valid under the trapdoor key, over any given root and session. */
export function makeV4Result(start: WorldIdStart, human: bigint, root = knownRoot, signal = start.signal) {
  const proof: WorldProofV4 = {
    protocol_version: "4.0",
    app_id: start.app_id,
    rp_id: start.rp_context.rp_id,
    nonce: start.rp_context.nonce,
    level: "proof_of_human",
    issuer_schema_id: 1,
    expires_at_min: start.rp_context.created_at,
    nullifier_hash: wordHex(human),
    merkle_root: wordHex(root),
    proof: [],
  };
  const inputs = publicInputsV4(proof, start.action, hashSignal(signal), keys) ?? [];
  const compressed = compressProof(trapdoor.prove(inputs.with(14, 0n)));
  return {
    protocol_version: "4.0",
    nonce: proof.nonce,
    action: start.action,
    environment: start.environment,
    responses: [
      {
        identifier: "proof_of_human",
        issuer_schema_id: 1,
        proof: [...compressed, root].map(String),
        nullifier: proof.nullifier_hash,
        expires_at_min: proof.expires_at_min,
      },
    ],
  };
}
