/** A JSON-RPC node that answers as World's contracts do: selectors and addresses as published. For tests. */
import { type WorldProofV3, type WorldProofV4, wordHex } from "#lib/protocol/world-id/world-id-proof";

const router = "0x17b354dd2595411ff79041f930e491a4df39a278";
const verifier = "0x00000000009e00f9fe82cfeebb4556686da094d7";
export const manager = "0x00000000000000000000000000000000000000aa";
export const registry = "0x0000000000ae079eb8a274cd51c0f44a9e4d67d4";
const issuers = "0x941239840f4d9668da8be76b568e836b50685d2c";
const oprf = "0x0d8b461799474207a3d223553d4d5e6609cb0c69";
const now = 1_795_000_000n;
const week = 604_800n;

export const v3: WorldProofV3 = {
  protocol_version: "3.0",
  app_id: "app_x",
  rp_id: "rp_00000000000000ff",
  nonce: wordHex(1n),
  level: "orb",
  nullifier_hash: wordHex(2n),
  merkle_root: wordHex(1000n),
  proof: "0x",
};
export const v4: WorldProofV4 = {
  ...v3,
  protocol_version: "4.0",
  level: "proof_of_human",
  proof: [],
  issuer_schema_id: 1,
  expires_at_min: 1,
};

export const words = (...values: (bigint | string)[]) =>
  `0x${values.map((value) => wordHex(BigInt(value)).slice(2)).join("")}`;

/** Keyed by `to selector argument`; selectors are the first four bytes of keccak-256 of the signatures. */
export const contracts: Record<string, string> = {
  [`${router} 0xbbe0d986 ${wordHex(1n)}`]: words(manager),
  [`${manager} 0xd7b0fef1 `]: words(1001n),
  [`${manager} 0xb0d69079 `]: words(week),
  [`${manager} 0xf1c621ee ${wordHex(1000n)}`]: words(now - 3600n),
  [`${manager} 0xf1c621ee ${wordHex(1001n)}`]: words(now - week - 1n),
  [`${manager} 0xf1c621ee ${wordHex(999n)}`]: words(now - week - 1n),
};

/** A v4 world: the verifier names its registries, these know the root, the issuer and the RP's key. */
export const v4Contracts: Record<string, string> = {
  [`${verifier} 0xc6c15ae0 `]: words(registry),
  [`${verifier} 0x340eb98f `]: words(issuers),
  [`${verifier} 0x1dfc0cea `]: words(oprf),
  [`${registry} 0x2cdabbce ${wordHex(1000n)}`]: words(1n),
  [`${registry} 0x2cdabbce ${wordHex(5n)}`]: words(0n),
  [`${issuers} 0x94db8bd2 ${wordHex(1n)}`]: words(3n, 4n),
  [`${issuers} 0x94db8bd2 ${wordHex(2n)}`]: words(0n, 0n),
  [`${oprf} 0x7488e8e7 ${wordHex(255n)}`]: words(5n, 6n),
};

export function stubNode(answers: Record<string, string>, overrides: Record<string, unknown> = {}) {
  const asked: string[] = [];
  const send = (async (_url, init) => {
    const { method, params } = JSON.parse(String(init?.body));
    if (method in overrides)
      return Response.json({ jsonrpc: "2.0", id: 1, ...(overrides[method] as object) });
    if (method === "eth_chainId") return Response.json({ result: "0x1e0" });
    if (method === "eth_getBlockByNumber") {
      return Response.json({
        result: { number: "0x10", hash: wordHex(77n), timestamp: `0x${now.toString(16)}` },
      });
    }
    const [{ to, data }, block] = params;
    if (block !== "0x10") throw new Error(`asked at block ${block}`);
    const argument = data.length > 10 ? `0x${data.slice(10)}` : "";
    const key = `${to} ${data.slice(0, 10)} ${argument}`;
    asked.push(key);
    const result = answers[key] ?? (to === manager && data.startsWith("0xf1c621ee") ? words(0n) : undefined);
    if (result === undefined) return Response.json({ error: { code: 3, message: "execution reverted" } });
    return Response.json({ result });
  }) as typeof fetch;
  return { send, asked };
}
