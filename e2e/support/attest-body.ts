/** For tests: a report that POST /v1/attest takes, with what a test changes in it. */
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";

export const attestBody = (more: JsonObject = {}): JsonObject => ({
  agent_slug: "field-bot",
  action: "Paid",
  inputs_hash: "sha256:abc",
  ...more,
});
