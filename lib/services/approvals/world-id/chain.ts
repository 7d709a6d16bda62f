/** Roots and keys of World ID from World Chain, by plain JSON-RPC at the latest block, recorded as `anchor`. */
import { z } from "zod";
import { AppError } from "#lib/errors";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import {
  anchorOrbV3,
  anchorV4,
  revertedCall,
  type WorldChainCall,
  WorldChainError,
} from "#lib/protocol/world-id/world-chain-calls";
import type { WorldProofV3, WorldProofV4 } from "#lib/protocol/world-id/world-id-proof";
import type { RootVerdict } from "./provider";

const RPC_TIMEOUT_MS = 10_000;
/** A block with its transactions' hashes is the longest. */
const MAX_ANSWER_BYTES = 1024 * 1024;

export interface WorldChainSettings {
  rpcUrl: string;
  fetch?: typeof fetch;
}

export interface WorldChain {
  anchorOrbV3(proof: WorldProofV3): Promise<RootVerdict>;
  anchorV4(proof: WorldProofV4): Promise<RootVerdict>;
}

export function createWorldChain(settings: WorldChainSettings): WorldChain {
  const rpc: WorldChainCall = (method, params) => callRpc(settings, method, params);
  return {
    anchorOrbV3: (proof) => anchorOrbV3(rpc, proof, "latest").catch(rethrow),
    anchorV4: (proof) => anchorV4(rpc, proof, "latest").catch(rethrow),
  };
}

const rpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

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
  const text = await readTextAtMost(response, MAX_ANSWER_BYTES).catch((cause: unknown) =>
    unavailable("stopped in the middle of its answer", cause),
  );
  if (text === null) return unavailable("answered with more than it has to say");
  const body = parseAnswer(text);
  const parsed = rpcAnswer.safeParse(body);
  if (!parsed.success || (parsed.data.error === undefined && !response.ok))
    unavailable(`refused ${method}`, body);
  const { error, result } = parsed.data;
  if (error === undefined) return result;
  // A contract that reverts has answered: the registries do so for an id that they do not know.
  if (error.code === 3 || /revert/i.test(error.message)) return revertedCall;
  return unavailable(`refused ${method}`, error);
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    return unavailable("answered with no JSON", cause);
  }
}

function rethrow(error: unknown): never {
  if (error instanceof WorldChainError) unavailable(error.message, error);
  throw error;
}

function unavailable(what: string, cause?: unknown): never {
  throw new AppError("service_unavailable", `World Chain ${what}`, {
    cause,
    headers: { "retry-after": "5" },
  });
}
