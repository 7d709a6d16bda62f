/** Transports of the MCP SDK for `countersign mcp gate`. */
// biome-ignore lint/style/noRestrictedImports: the protocol's own transports, which no page or agent loads
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
// biome-ignore lint/style/noRestrictedImports: as above
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
// biome-ignore lint/style/noRestrictedImports: as above
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
// biome-ignore lint/style/noRestrictedImports: as above
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { McpServerAddress, McpTransport } from "./io";

/** A server gets the environment of whoever configured it, but for what opens the service. */
function readEnvironment(): Record<string, string> {
  // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
  const given = Object.entries(process.env).filter(([name]) => !name.startsWith("COUNTERSIGN_"));
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function requireValid(schema: JsonObject, value: unknown): void {
  const { valid, errorMessage } = new CfWorkerJsonSchemaValidator().getValidator(schema)(value);
  if (!valid) throw new TypeError(errorMessage);
}

export async function openMcp({ command, url, headers }: McpServerAddress) {
  const [program = "", ...args] = command;
  const server =
    url === undefined
      ? new StdioClientTransport({ command: program, args, env: readEnvironment() })
      : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
  const client: unknown = new StdioServerTransport();
  return { client: client as McpTransport, server: server as unknown as McpTransport, requireValid };
}
