/** The calls that the portal shows with an agent's own slug, from the bodies that the API reference shows. */
import { listSamples } from "#components/api-reference/samples";
import { requestExamples } from "#lib/api/operations/examples";
import type { OwnSample } from "./own-samples";

const calls = [
  {
    operationId: "attest",
    path: "/v1/attest",
    label: "Create an attestation",
    withTool: (tool: string) => ({ tools_used: [tool] }),
  },
  {
    operationId: "authorize",
    path: "/v1/authorize",
    label: "Request an approval",
    withTool: (tool: string) => ({ tool }),
  },
] as const;

/** `base` without a trailing slash; `tools` as registered, since another one would be a warning. */
export function writeOwnSamples(base: string, slug: string, tools: readonly string[] = []): OwnSample[] {
  const [tool] = tools;
  return calls.map(({ operationId, path, label, withTool }) => ({
    scope: operationId,
    label,
    samples: listSamples({
      base,
      operationId,
      url: base + path,
      method: "POST",
      isKeyed: true,
      isJson: true,
      body: {
        ...requestExamples[operationId],
        agent_slug: slug,
        ...(tool === undefined ? {} : withTool(tool)),
      },
    }),
  }));
}
