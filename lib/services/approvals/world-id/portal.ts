/**
 * World's Developer Portal (`POST {portal}/api/v4/verify/{rp_id}`) and the RP's signature. A 200 means only that
 * some item was valid, also a reused one, so the item of the credential that was sent is looked up in `results`
 * and its nullifier compared. `environment` and `signal_hash` are always sent, and from what is stored: the portal
 * would otherwise assume production and the hash of nothing.
 */

import { signRequest } from "@worldcoin/idkit-server";
import { z } from "zod";
import type { RpContext } from "#lib/api/schemas/approval-view";
import { AppError } from "#lib/errors";
import { measure } from "#lib/instrumentation";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import type { VerificationKeyJson } from "#lib/protocol/world-id/groth16";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { parseWord, type WorldProof, wordHex } from "#lib/protocol/world-id/world-id-proof";
import type { WorldChain } from "./chain";
import type { IdkitConfig, PortalVerdict, RootVerdict, StoredRequest, WorldIdProvider } from "./provider";

const PORTAL_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const RP_CONTEXT_TTL_SECONDS = 300;

export interface PortalSettings {
  environment: WorldEnvironment;
  idkitConfig: IdkitConfig;
  rpId: string;
  /** 32 bytes in hex, with or without 0x. */
  rpSigningKeyHex: string;
  /** URL without a slash at its end. */
  portalUrl: string;
  v4KeyJson?: VerificationKeyJson;
  chain?: WorldChain;
  fetch?: typeof fetch;
}

const item = z.object({
  identifier: z.string(),
  success: z.boolean(),
  nullifier: z.string().nullish(),
  code: z.string().nullish(),
  detail: z.string().nullish(),
});
const answer = z.object({
  success: z.boolean().optional(),
  code: z.string().nullish(),
  detail: z.string().nullish(),
  results: z.array(item).nullish(),
});

export function createPortalProvider(settings: PortalSettings): WorldIdProvider {
  const { environment, idkitConfig, rpId } = settings;
  return {
    environment,
    appId: idkitConfig.app_id,
    rpId,
    idkitConfig,
    signRequest: (action) => signRpContext(settings, action),
    verifyWithPortal: (proof, stored) =>
      measure("world", "verify a proof", () => askPortal(settings, proof, stored)),
    checkRoot: (proof) => measure("world", "check a root", () => checkRoot(settings, proof)),
    v4KeyJson: settings.v4KeyJson,
  };
}

function signRpContext({ rpId, rpSigningKeyHex }: PortalSettings, action: string): RpContext {
  const signed = signRequest({ signingKeyHex: rpSigningKeyHex, action, ttl: RP_CONTEXT_TTL_SECONDS });
  return {
    rp_id: rpId,
    nonce: signed.nonce,
    created_at: signed.createdAt,
    expires_at: signed.expiresAt,
    signature: signed.sig,
  };
}

async function askPortal(
  settings: PortalSettings,
  proof: WorldProof,
  stored: StoredRequest,
): Promise<PortalVerdict> {
  const url = `${settings.portalUrl}/api/v4/verify/${encodeURIComponent(settings.rpId)}`;
  const response = await post(settings, url, portalBody(settings, proof, stored));
  const text = await readTextAtMost(response, MAX_ANSWER_BYTES).catch((cause: unknown) =>
    unavailable("stopped in the middle of its answer", cause),
  );
  if (response.status >= 500 || response.status === 429 || response.status === 408) {
    unavailable(`answered ${response.status}`);
  }
  if (text === null) unavailable("answered with more than it has to say");
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success)
    unavailable(`answered ${response.status} with something that is not its answer`, parsed.error);
  return readAnswer(response.ok, parsed.data, proof);
}

function readAnswer(ok: boolean, body: z.infer<typeof answer>, proof: WorldProof): PortalVerdict {
  const ours = body.results?.find((result) => result.identifier === proof.level);
  if (!ok || body.success !== true) {
    const code = ours?.code ?? body.code ?? "refused";
    return { ok: false, code, detail: ours?.detail ?? body.detail ?? "World refused the proof" };
  }
  if (ours === undefined) {
    return {
      ok: false,
      code: "identifier_missing",
      detail: `World's answer has no result for ${proof.level}`,
    };
  }
  if (!ours.success)
    return { ok: false, code: ours.code ?? "refused", detail: ours.detail ?? "World refused the proof" };
  const nullifier = parseWord(ours.nullifier ?? "");
  if (nullifier === undefined || wordHex(nullifier) !== proof.nullifier_hash) {
    return { ok: false, code: "nullifier_mismatch", detail: "World's answer is about another nullifier" };
  }
  return { ok: true };
}

function portalBody(settings: PortalSettings, proof: WorldProof, stored: StoredRequest): object {
  const common = {
    identifier: proof.level,
    signal_hash: stored.signal_hash,
    nullifier: proof.nullifier_hash,
  };
  const response =
    proof.protocol_version === "3.0"
      ? { ...common, proof: proof.proof, merkle_root: proof.merkle_root }
      : {
          ...common,
          proof: proof.proof,
          issuer_schema_id: proof.issuer_schema_id,
          expires_at_min: proof.expires_at_min,
        };
  return {
    protocol_version: proof.protocol_version,
    nonce: proof.nonce,
    action: stored.world_action,
    environment: settings.idkitConfig.environment,
    responses: [response],
  };
}

async function post(settings: PortalSettings, url: string, body: object): Promise<Response> {
  const send = settings.fetch ?? fetch;
  return send(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
    redirect: "error",
    signal: AbortSignal.timeout(PORTAL_TIMEOUT_MS),
  }).catch((cause: unknown) => unavailable("is out of reach", cause));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unavailable(what: string, cause?: unknown): never {
  throw new AppError("service_unavailable", `World ${what}; the request is still pending`, {
    cause,
    headers: { "retry-after": "5" },
  });
}

/** The chain holds the roots of World's production network: v4's, and v3's of Orbs. */
async function checkRoot({ environment, chain }: PortalSettings, proof: WorldProof): Promise<RootVerdict> {
  if (environment === "local") return { status: "not_checked", detail: "the local stand-in has no chain" };
  if (environment === "staging")
    return { status: "not_checked", detail: "roots of World's staging network are not looked up" };
  if (chain === undefined) return { status: "not_checked", detail: "WORLD_CHAIN_RPC_URL is not set" };
  if (proof.protocol_version === "4.0") return chain.anchorV4(proof);
  if (proof.level === "device") return { status: "not_checked", detail: "device roots are not on chain" };
  return chain.anchorOrbV3(proof);
}
