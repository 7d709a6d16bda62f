/**
 * The local stand-in, put together: bridge, World App and portal speak World's own protocols, and the service talks
 * to them through the same code as to World. Its approvals carry the environment `local` and prove no person.
 */

import type { WorldProof } from "#lib/protocol/world-id/world-id-proof";
import { createPortalProvider } from "#lib/services/approvals/world-id/portal";
import type { RootVerdict, WorldIdProvider } from "#lib/services/approvals/world-id/provider";
import { createProver, treeRoot } from "./prover";
import { createWalletBridge, type WalletBridge } from "./wallet-bridge";
import {
  createPortalStub,
  createRpChecker,
  createWorldApp,
  type PortalStub,
  rpAddress,
  type WorldApp,
} from "./world-app";

/** IDKit takes a bridge on localhost only for app ids that begin so. */
export const LOCAL_APP_ID = "app_staging_countersign_local";
const LOCAL_RP_ID = "rp_00000000000c5160";

export interface LocalWorldIdSettings {
  /** The origin of this server: bridge, World App page and portal are below it. */
  baseUrl: string;
  /** 32 bytes in hex. */
  rpSigningKeyHex: string;
}

/** One instance per process: what the bridge and the World App remember is in memory. */
export interface LocalWorldId {
  provider: WorldIdProvider;
  bridge: WalletBridge;
  worldApp: WorldApp;
  portal: PortalStub;
}

export function createLocalWorldId({ baseUrl, rpSigningKeyHex }: LocalWorldIdSettings): LocalWorldId {
  const now = Date.now;
  const bridge = createWalletBridge(now);
  const worldApp = createWorldApp({
    bridge,
    appId: LOCAL_APP_ID,
    checkRp: createRpChecker({ rp_id: LOCAL_RP_ID, signer: () => rpAddress(rpSigningKeyHex) }, now),
    prove: createProver(),
    now,
  });
  const portal = createPortalStub({ app_id: LOCAL_APP_ID, rp_id: LOCAL_RP_ID, now });
  const provider = createPortalProvider({
    environment: "local",
    idkitConfig: {
      app_id: LOCAL_APP_ID,
      environment: "staging",
      bridge_url: baseUrl,
      override_connect_base_url: `${baseUrl}/dev/world-app`,
    },
    rpId: LOCAL_RP_ID,
    rpSigningKeyHex,
    portalUrl: `${baseUrl}/dev/world-portal`,
    // The portal's own handler, without a detour over the network.
    fetch: (input, init) => portal(new Request(input, init), { id: LOCAL_RP_ID }),
  });
  return { provider: { ...provider, checkRoot: checkLocalRoot }, bridge, worldApp, portal };
}

/** There is no chain to anchor a root, but which roots exist is known here. */
async function checkLocalRoot(proof: WorldProof): Promise<RootVerdict> {
  const isOurs = proof.protocol_version === "3.0" && BigInt(proof.merkle_root) === treeRoot(proof.level);
  return isOurs
    ? { status: "not_checked", detail: "the local stand-in has no chain" }
    : { status: "not_on_chain", detail: `no root of the stand-in's ${proof.level} tree` };
}
