/** The calls that the portal shows with an agent's own slug, from the bodies that the API reference shows. */
import { listSamples } from "#components/api-reference/samples";
import { requestExamples } from "#lib/api/operations/examples";
import type { OwnSample } from "./own-samples";

const calls = [
  { operationId: "attest", path: "/v1/attest", label: "Create an attestation" },
  { operationId: "authorize", path: "/v1/authorize", label: "Request an approval" },
] as const;

/** `base` without a trailing slash. */
export function writeOwnSamples(base: string, slug: string): OwnSample[] {
  return calls.map(({ operationId, path, label }) => ({
    scope: operationId,
    label,
    samples: listSamples({
      base,
      operationId,
      url: base + path,
      method: "POST",
      isKeyed: true,
      isJson: true,
      body: { ...requestExamples[operationId], agent_slug: slug },
    }),
  }));
}
