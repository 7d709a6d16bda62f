/** Where an authorization was given: anything but production is a TEST. */
import { isLoopbackUrl } from "#lib/protocol/text/host";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { type Approval, isWorldIdApproval } from "./approval";

/** A passkey, a rule or a standing approval proves the same on a loopback address, but counts as a TEST there. */
export function findEnvironment(origin: string, approvals: readonly Approval[]): WorldEnvironment {
  const proofs = approvals.filter(isWorldIdApproval);
  const [first] = proofs;
  if (first && (first.environment !== "production" || proofs.length === approvals.length))
    return first.environment;
  return !URL.canParse(origin) || isLoopbackUrl(origin) ? "local" : "production";
}
