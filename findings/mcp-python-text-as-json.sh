#!/bin/sh
# mcp 2.3.0 (PyPI) beside @modelcontextprotocol/server 2.4.0 (npm), Node 20: a server in Python parses a text argument that happens
# to be JSON, unless the parameter's type is exactly `str`. An optional text, `str | None`, isn't: "null" arrives as None, the
# parameter's default, and a text that is a JSON object or list is refused, though the tool's schema takes every text.
# `dict | str` gets a dict. Whoever showed or checked the arguments on the way (a gate, an approver, a log) saw a text. The
# TypeScript server hands each out as it was sent, by the same schema. Known upstream as #381, of a version before it spared `str`.
# Output (sent as a text: what the tool got):
#   TypeScript: "all" text all   "null" text null   {"a":1} text {"a":1}   dict or text, {"a":1}: text {"a":1}
#   Python: "all" text all   "null" None   {"a":1} refused   dict or text, {"a":1}: dict
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error \
  @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/server@2.4.0 zod@4.6.7 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat > server.mjs <<'S'
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
const server = new McpServer({ name: "s", version: "1" });
const show = ({ value }) => ({ content: [{ type: "text", text: typeof value === "string" ? `text ${value}` : typeof value }] });
const optional = z.object({ value: z.string().nullable().default(null) });
const either = z.object({ value: z.union([z.record(z.string(), z.unknown()), z.string()]) });
server.registerTool("optional", { inputSchema: optional }, show);
server.registerTool("either", { inputSchema: either }, show);
await server.connect(new StdioServerTransport());
S
cat > server.py <<'S'
from typing import Any
from mcp.server import MCPServer
server = MCPServer("s")
def show(value: Any) -> str:
    return f"text {value}" if isinstance(value, str) else "None" if value is None else type(value).__name__
@server.tool()
def optional(value: str | None = None) -> str:
    return show(value)
@server.tool()
def either(value: dict[str, Any] | str) -> str:
    return show(value)
server.run("stdio")
S
cat > client.mjs <<'S'
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "c", version: "1" });
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
const call = async (name, value) => {
  const { isError, content } = await client.callTool({ name, arguments: { value } });
  return isError ? "refused" : content[0].text;
};
const object = '{"a":1}';
console.log(
  `"all" ${await call("optional", "all")}   "null" ${await call("optional", "null")}   ` +
    `${object} ${await call("optional", object)}   dict or text, ${object}: ${await call("either", object)}`,
);
await client.close();
S
echo "TypeScript: $(node client.mjs node server.mjs)" | tee out
echo "Python: $(node client.mjs python/bin/python server.py)" | tee -a out
cat > expected <<'S'
TypeScript: "all" text all   "null" text null   {"a":1} text {"a":1}   dict or text, {"a":1}: text {"a":1}
Python: "all" text all   "null" None   {"a":1} refused   dict or text, {"a":1}: dict
S
cmp out expected
