/**
 * Calls to World's contracts on World Chain and checks of their answers, at one block: pure, so that the service (which
 * records an `anchor`) and the offline verifier (which reads it again) ask the same.
 *
 * v3 (Orb): `WorldIDRouter.routeFor(1)` → the bridged identity manager, `rootHistory(root)` → the time it came.
 * v4: `WorldIDVerifier` names its registries; `isValidRoot(root)`, the issuer's key, the OPRF key of the RP.
 * Read from worldcoin/world-id-contracts, world-id-state-bridge and world-id-protocol (MIT).
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Anchor } from "#lib/protocol/approval/approval";
import { hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseRpId, parseWord, type WorldProofV3, type WorldProofV4, wordHex } from "./world-id-proof";

/** A node that gave no answer that could be read; its message continues "World Chain …". */
export class WorldChainError extends Error {}

/** JSON-RPC; a call that reverts answers {@link revertedCall}. */
export type WorldChainCall = (method: string, params: unknown[]) => Promise<unknown>;
export type AnchorVerdict =
  | { status: "anchored"; anchor: Anchor }
  | { status: "not_on_chain"; detail: string };

/** Stands for an answer of no words. */
export const revertedCall = "0x";
const ORB_GROUP = 1n;

const worldChainAddresses = {
  chainId: 480,
  worldIdRouter: "0x17b354dd2595411ff79041f930e491a4df39a278",
  worldIdVerifier: "0x00000000009e00f9fe82cfeebb4556686da094d7",
} as const;

interface Block {
  number: number;
  hash: string;
  timestamp: bigint;
}

/** Follows the contract's own `requireValidRoot`: the latest root, or one not older than its expiry. */
export async function anchorOrbV3(
  rpc: WorldChainCall,
  proof: WorldProofV3,
  at: number | "latest",
): Promise<AnchorVerdict> {
  const block = await readBlock(rpc, at);
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

export async function anchorV4(
  rpc: WorldChainCall,
  proof: WorldProofV4,
  at: number | "latest",
): Promise<AnchorVerdict> {
  const rpId = parseRpId(proof.rp_id);
  if (rpId === undefined) return { status: "not_on_chain", detail: "the RP id is not one of World's" };
  const block = await readBlock(rpc, at);
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

async function readBlock(rpc: WorldChainCall, at: number | "latest"): Promise<Block> {
  const [chainId, raw] = await Promise.all([
    rpc("eth_chainId", []),
    rpc("eth_getBlockByNumber", [at === "latest" ? at : `0x${at.toString(16)}`, false]),
  ]);
  if (parseWord(String(chainId)) !== BigInt(worldChainAddresses.chainId))
    unavailable("is another chain than World Chain");
  const { number, hash, timestamp } = isJsonObject(raw) ? raw : {};
  const isQuantity = (value: unknown): value is string =>
    typeof value === "string" && /^0x[0-9a-f]{1,13}$/.test(value);
  if (!isQuantity(number) || !isQuantity(timestamp) || !/^0x[0-9a-f]{64}$/.test(String(hash)))
    return unavailable("answered with no block");
  if (at !== "latest" && Number(number) !== at) return unavailable("answered with another block");
  return { number: Number(number), hash: String(hash), timestamp: BigInt(timestamp) };
}

/** Calls with arguments and results that are all static words. */
async function ethCall(
  rpc: WorldChainCall,
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

function unavailable(what: string): never {
  throw new WorldChainError(what);
}
