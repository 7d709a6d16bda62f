/** The stand-in wallet's two calls (lib/emulators/world-app.ts). */

export interface WalletLink {
  /** `i` and `k` of the connector link. */
  readonly id: string;
  readonly key: string;
}

export interface WalletHuman {
  id: string;
  name: string;
  levels: ("orb" | "device")[];
  can_answer: boolean;
}

export interface WalletRequest {
  request_id: string;
  app_id: string;
  action: string;
  action_description: string | null;
  signal_hash: string;
  environment: string;
  required_level: string;
  humans: WalletHuman[];
}

export type WalletDecision =
  | { decision: "reject" }
  | { decision: "approve"; human: string; level: "orb" | "device" };

const api = "/dev/world-app/api";

/** Undefined if the bridge has no such request for this key. */
export async function readWalletRequest({ id, key }: WalletLink): Promise<WalletRequest | undefined> {
  try {
    const query = new URLSearchParams({ i: id, k: key });
    const response = await fetch(`${api}/request?${query}`, { cache: "no-store" });
    return response.ok ? ((await response.json()) as WalletRequest) : undefined;
  } catch {
    return undefined;
  }
}

/** `sent`: "proof", or the error code that went back to the page. */
export async function sendWalletAnswer(
  { id, key }: WalletLink,
  decision: WalletDecision,
): Promise<{ sent: string } | { error: string }> {
  try {
    const response = await fetch(`${api}/response`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ i: id, k: key, ...decision }),
    });
    const body = (await response.json()) as { sent?: string; error?: string };
    return body.sent === undefined
      ? { error: body.error ?? `status ${response.status}` }
      : { sent: body.sent };
  } catch {
    return { error: "the service cannot be reached" };
  }
}
