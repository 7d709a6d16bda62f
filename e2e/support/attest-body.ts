/** Valid body of POST /v1/attest for tests, with the test's changes. */
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";

export const attestBody = (more: JsonObject = {}): JsonObject => ({
  agent_slug: "field-bot",
  action: "Paid",
  inputs_hash: "sha256:abc",
  ...more,
});
