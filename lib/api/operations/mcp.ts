/** The Model Context Protocol. Its tools are in mcp.ts; the protocol describes them itself. */
import { type OperationSpec, withKey } from "./operation";

export const mcpOperations = {
  mcp: {
    method: "POST",
    path: "/mcp",
    summary: "Model Context Protocol (streamable HTTP)",
    tag: "Service",
    auth: withKey(),
    limit: "keyed",
    responses: { 200: null, 202: null },
    errors: [401, 403, 413],
    internal: true,
  },
} as const satisfies Record<string, OperationSpec>;
