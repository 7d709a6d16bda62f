/**
 * Roots and keys of World ID from World Chain, by plain JSON-RPC `eth_call`s at one block, recorded as `anchor`.
 *
 * v3 (Orb): `WorldIDRouter.routeFor(1)` → the bridged identity manager, `rootHistory(root)` → the time it came.
 * v4: `WorldIDVerifier` names its registries; `isValidRoot(root)`, the issuer's key, the OPRF key of the RP.
 * Read from worldcoin/world-id-contracts, world-id-state-bridge and world-id-protocol (MIT).
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { z } from "zod";
import type { Anchor } from "#lib/domain/approval";
import { hexEncode, utf8Encode } from "#lib/domain/bytes";
import {
  parseRpId,
  parseWord,
  type WorldProofV3,
  type WorldProofV4,
  wordHex,
} from "#lib/domain/world-id-proof";
import { AppError } from "#lib/errors";
import type { RootVerdict } from "./world-id";

const RPC_TIMEOUT_MS = 10_000;
/** Stands for an answer of no words. */
const REVERTED = "0x";
const ORB_GROUP = 1n;

export const worldChainAddresses = {
  chainId: 480,
  worldIdRouter: "0x17b354dd2595411ff79041f930e491a4df39a278",
  worldIdVerifier: "0x00000000009e00f9fe82cfeebb4556686da094d7",
} as const;

export interface WorldChainSettings {
  rpcUrl: string;
  fetch?: typeof fetch;
}

export interface WorldChain {
  anchorOrbV3(proof: WorldProofV3): Promise<RootVerdict>;
  anchorV4(proof: WorldProofV4): Promise<RootVerdict>;
}

export function createWorldChain(settings: WorldChainSettings): WorldChain {
  const rpc: Rpc = (method, params) => callRpc(settings, method, params);
  return {
    anchorOrbV3: (proof) => anchorOrbV3(rpc, proof),
    anchorV4: (proof) => anchorV4(rpc, proof),
  };
}

type Rpc = (method: string, params: unknown[]) => Promise<unknown>;
interface Block {
  number: number;
  hash: string;
  timestamp: bigint;
}

const rpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

/** As the contract's own `requireValidRoot`: the latest root, or one not older than its expiry. */
async function anchorOrbV3(rpc: Rpc, proof: WorldProofV3): Promise<RootVerdict> {
  const block = await latestBlock(rpc);
  const read = (to: string, signature: string, ...words: bigint[]) =>
    ethCall(rpc, block, to, signature, words);
  const [route] = await read(worldChainAddresses.worldIdRouter, "routeFor(uint256)", ORB_GROUP);
  const manager = address(route);
  const root = BigInt(proof.merkle_root);
  const [[bridgedAt], [latestRoot], [expirySeconds]] = await Promise.all([
    read(manager, "rootHistory(uint256)", root),
    read(manager, "latestRoot()"),
    read(manager, "rootHistoryExpiry()"),
  ]);
  if (bridgedAt === undefined || bridgedAt === 0n)
    return { status: "not_on_chain", detail: "no Orb root of World" };
  if (root !== latestRoot && block.timestamp - bridgedAt > (expirySeconds ?? 0n)) {
    return { status: "not_on_chain", detail: "an Orb root of World that has expired" };
  }
  return { status: "anchored", anchor: anchorAt(block, manager, proof.merkle_root) };
}

async function anchorV4(rpc: Rpc, proof: WorldProofV4): Promise<RootVerdict> {
  const rpId = parseRpId(proof.rp_id);
  if (rpId === undefined) return { status: "not_on_chain", detail: "the RP id is not one of World's" };
  const block = await latestBlock(rpc);
  const read = (to: string, signature: string, ...words: bigint[]) =>
    ethCall(rpc, block, to, signature, words);
  const verifier = worldChainAddresses.worldIdVerifier;
  const [[registryWord], [issuersWord], [oprfWord]] = await Promise.all([
    read(verifier, "getWorldIDRegistry()"),
    read(verifier, "getCredentialSchemaIssuerRegistry()"),
    read(verifier, "getOprfKeyRegistry()"),
  ]);
  const registry = address(registryWord);
  const [[isValid], issuer, oprf] = await Promise.all([
    read(registry, "isValidRoot(uint256)", BigInt(proof.merkle_root)),
    read(address(issuersWord), "issuerSchemaIdToPubkey(uint64)", BigInt(proof.issuer_schema_id)),
    read(address(oprfWord), "getOprfPublicKey(uint160)", rpId),
  ]);
  if (isValid !== 1n) return { status: "not_on_chain", detail: "no valid root of World's registry" };
  const keys = { issuer_public_key: publicKey(issuer), oprf_public_key: publicKey(oprf) };
  const { issuer_public_key, oprf_public_key } = keys;
  if (issuer_public_key === undefined || oprf_public_key === undefined) {
    return { status: "not_on_chain", detail: "the issuer or the RP has no key in World's registries" };
  }
  const anchor = anchorAt(block, registry, proof.merkle_root);
  return { status: "anchored", anchor: { ...anchor, issuer_public_key, oprf_public_key } };
}

function anchorAt(block: Block, registry: string, root: string): Anchor {
  return {
    chain_id: worldChainAddresses.chainId,
    block_number: block.number,
    block_hash: block.hash,
    registry,
    root,
  };
}

/** A zero coordinate is how the registries say that there is no key. */
function publicKey([x, y]: bigint[]): [string, string] | undefined {
  return x === undefined || y === undefined || x === 0n || y === 0n ? undefined : [wordHex(x), wordHex(y)];
}

function address(word: bigint | undefined): string {
  if (word === undefined || word === 0n || word >> 160n !== 0n) unavailable("named no contract");
  return `0x${word.toString(16).padStart(40, "0")}`;
}

async function latestBlock(rpc: Rpc): Promise<Block> {
  const [chainId, raw] = await Promise.all([
    rpc("eth_chainId", []),
    rpc("eth_getBlockByNumber", ["latest", false]),
  ]);
  if (parseWord(String(chainId)) !== BigInt(worldChainAddresses.chainId))
    unavailable("is another chain than World Chain");
  const quantity = z.string().regex(/^0x[0-9a-f]{1,13}$/);
  const shape = z.object({
    number: quantity,
    hash: z.string().regex(/^0x[0-9a-f]{64}$/),
    timestamp: quantity,
  });
  const block = shape.safeParse(raw);
  if (!block.success) unavailable("answered with no block", block.error);
  return {
    number: Number(block.data.number),
    hash: block.data.hash,
    timestamp: BigInt(block.data.timestamp),
  };
}

/** All arguments and results of these calls are static words. */
async function ethCall(
  rpc: Rpc,
  block: Block,
  to: string,
  signature: string,
  words: bigint[],
): Promise<bigint[]> {
  const selector = hexEncode(keccak_256(utf8Encode(signature)).slice(0, 4));
  const data = `0x${selector}${words.map((word) => wordHex(word).slice(2)).join("")}`;
  const result = await rpc("eth_call", [{ to, data }, `0x${block.number.toString(16)}`]);
  if (typeof result !== "string" || !/^0x(?:[0-9a-f]{64})*$/.test(result))
    unavailable(`gave no answer to ${signature}`);
  return (result.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`));
}

async function callRpc(
  { rpcUrl, fetch: send = fetch }: WorldChainSettings,
  method: string,
  params: unknown[],
) {
  const response = await send(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
  }).catch((cause: unknown) => unavailable("is out of reach", cause));
  const body: unknown = await response
    .json()
    .catch((cause: unknown) => unavailable("answered with no JSON", cause));
  const parsed = rpcAnswer.safeParse(body);
  if (!parsed.success || (parsed.data.error === undefined && !response.ok))
    unavailable(`refused ${method}`, body);
  const { error, result } = parsed.data;
  if (error === undefined) return result;
  // A contract that reverts has answered: the registries do so for an id that they do not know.
  if (error.code === 3 || /revert/i.test(error.message)) return REVERTED;
  return unavailable(`refused ${method}`, error);
}

function unavailable(what: string, cause?: unknown): never {
  throw new AppError("service_unavailable", `World Chain ${what}`, {
    cause,
    headers: { "Retry-After": "5" },
  });
}
