/**
 * World ID as the services see it: World itself (portal.ts with World's address) or the local stand-in (the same code
 * with ours). The order of checks, uniqueness and the change of state are the services' business.
 */

import { readFileSync } from "node:fs";
import { z } from "zod";
import type { IdkitResult, RpContext } from "#lib/api/schemas/approval-view";
import { AppError } from "#lib/errors";
import { type Anchor, findEnvironment } from "#lib/protocol/approval/approval";
import type { VerificationKeyJson } from "#lib/protocol/world-id/groth16";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import type { WorldProof } from "#lib/protocol/world-id/world-id-proof";

export interface IdkitConfig {
  app_id: `app_${string}`;
  /** IDKit's own name: the stand-in is `staging` there, and `local` in what we record. */
  environment: "production" | "staging";
  bridge_url?: string;
  override_connect_base_url?: string;
}

/** Read from the database, never taken from the browser. */
export interface StoredRequest {
  world_action: string;
  signal_hash: string;
}

/** A refusal is World's answer about the proof; an outage is thrown as AppError `service_unavailable`. */
export type PortalVerdict = { ok: true } | { ok: false; code: string; detail: string };

/**
 * `anchored`: the root (and v4's keys) are on chain at that block. `not_on_chain`: the chain was asked and does not
 * know the root. `not_checked`: no chain was asked, for the reason given; World's portal is then the only witness.
 */
export type RootVerdict =
  | { status: "anchored"; anchor: Anchor }
  | { status: "not_on_chain"; detail: string }
  | { status: "not_checked"; detail: string };

export interface WorldIdProvider {
  environment: WorldEnvironment;
  appId: string;
  rpId: string;
  idkitConfig: IdkitConfig;
  signRequest(action: string): RpContext;
  verifyWithPortal(proof: WorldProof, stored: StoredRequest): Promise<PortalVerdict>;
  checkRoot(proof: WorldProof): Promise<RootVerdict>;
  /**
   * World's v4 key as snarkjs writes it, for a worker thread; without the setting such proofs are checked by World
   * alone.
   */
  v4KeyJson: VerificationKeyJson | undefined;
}

/** Rejects results of another app, network or action. */
export function isResultOfRequest(
  result: IdkitResult,
  provider: Pick<WorldIdProvider, "idkitConfig">,
  action: string,
): boolean {
  return result.action === action && result.environment === provider.idkitConfig.environment;
}

/* World ID as the services see it where the service has none (APPROVALS=passkeys): nothing can be asked of it. */

/** Refuses requests that were made while World ID was set up. They stay pending: it may come back. */
function refuse(): never {
  throw new AppError(
    "service_unavailable",
    "this request asks for World ID, which this service doesn't have any more: cancel it, and request an approval by passkey",
  );
}

export function createNoWorldId(baseUrl: string): WorldIdProvider {
  return {
    environment: findEnvironment(baseUrl, []),
    appId: "",
    rpId: "",
    idkitConfig: { app_id: "app_", environment: "production" },
    signRequest: refuse,
    verifyWithPortal: async () => refuse(),
    checkRoot: async () => refuse(),
    v4KeyJson: undefined,
  };
}

/* `WORLD_ID_V4_VERIFYING_KEY`: World's v4 key as snarkjs writes it, as JSON or the path of a file with it. */

const V4_PUBLIC_INPUTS = 15;

const point = z
  .array(z.string().regex(/^[0-9]{1,78}$/))
  .min(2)
  .max(3);
const twistPoint = z
  .array(z.array(z.string().regex(/^[0-9]{1,78}$/)).length(2))
  .min(2)
  .max(3);
const keyJson = z.object({
  vk_alpha_1: point,
  vk_beta_2: twistPoint,
  vk_gamma_2: twistPoint,
  vk_delta_2: twistPoint,
  IC: z.array(point).length(V4_PUBLIC_INPUTS + 1),
});

/** Throws an Error that names the setting: a wrong key would make every true proof look false. */
export async function readV4VerifyingKey(setting: string): Promise<VerificationKeyJson> {
  try {
    // The curve takes long to load, and only this setting needs it in a server's own thread.
    const { parseVerificationKey } = await import("#lib/protocol/world-id/groth16");
    const text = setting.trimStart().startsWith("{") ? setting : readFileSync(setting, "utf8");
    const json = keyJson.parse(JSON.parse(text));
    parseVerificationKey(json);
    return json;
  } catch (cause) {
    throw new Error(
      "WORLD_ID_V4_VERIFYING_KEY: must be World's v4 verification key in snarkjs's JSON, or a file with it",
      {
        cause,
      },
    );
  }
}
