/** An approval is given to an agent under the key that the page showed, and backs only what is attested under that key. */
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";

/** `asked`: `human_authorization.request`. `registeredKey`: base64; null if none is registered. */
export function isSameAgentKey(asked: JsonObject, registeredKey: string | null): boolean {
  return (asked["agent_public_key"] ?? null) === registeredKey;
}
