/** Bytes that an agent signs (docs/wire.md, Attest). */
import { canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";

/**
 * The request body without nulls and `agent_signature`, `human_authorization` by its hash. Its canonical
 * bytes are what `agent_signature` signs.
 */
export function signedRequest(body: JsonObject): JsonObject {
  const request: JsonObject = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || name === "agent_signature") continue;
    if (name === "human_authorization") request["human_authorization_hash"] = canonicalHash(value);
    else request[name] = value;
  }
  return request;
}
