#!/bin/sh
# @modelcontextprotocol/client and /server 2.4.0 (npm), Node 20, beside mcp 2.3.0 (PyPI): a client checks a tool's result by the
# tool's output schema, and compiles its `pattern` with the regular expressions of its own language. \p{L} (a letter of any
# script), which zod writes into the schema, is no pattern to Python: its client calls the tool, lets it do its work, and raises
# instead of handing out the result, each time. What Python's re.escape makes of a hyphen is no pattern to the TypeScript
# client, which refuses before the call. Server and client of one language have no trouble with either.
# Output (client: what it got, calls that ran):
#   letters of a TypeScript server: TypeScript answer, 1   Python Invalid schema for tool letters, 1
#   hyphen of a Python server: TypeScript Tool 'hyphen' has an invalid outputSchema, 0   Python answer, 1
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
cat > letters.mjs <<'S'
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
const server = new McpServer({ name: "s", version: "1" });
const outputSchema = z.object({ name: z.string().regex(/^\p{L}+$/u) });
server.registerTool("letters", { outputSchema }, () => {
  appendFileSync("ran", "call\n");
  return { content: [{ type: "text", text: "Zoe" }], structuredContent: { name: "Zoe" } };
});
await server.connect(new StdioServerTransport());
S
cat > hyphen.py <<'S'
import re
from typing import Annotated
from mcp.server import MCPServer
from pydantic import BaseModel, Field
class Answer(BaseModel):
    name: Annotated[str, Field(pattern=f"^{re.escape('a-b')}$")]
server = MCPServer("s")
@server.tool()
def hyphen() -> Answer:
    open("ran", "a").write("call\n")
    return Answer(name="a-b")
server.run("stdio")
S
cat > client.mjs <<'S'
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const [name, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "c", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
await client.listTools();
const result = await client.callTool({ name, arguments: {} }).catch((error) => error);
console.log(result instanceof Error ? result.message.split(":")[0] : result.isError ? "an error" : "answer");
await client.close();
S
cat > client.py <<'S'
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
name, command, *arguments = sys.argv[1:]
async def call():
    async with stdio_client(StdioServerParameters(command=command, args=arguments)) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            try:
                return "an error" if (await session.call_tool(name, {})).is_error else "answer"
            except RuntimeError as error:
                return str(error).split(":")[0]
print(asyncio.run(call()))
S
try() {
  : >ran
  answer=$("$@" 2>/dev/null)
  echo "$answer, $(grep -c call ran || true)"
}
both() { echo "TypeScript $(try node client.mjs "$@")   Python $(try python/bin/python client.py "$@")"; }
echo "letters of a TypeScript server: $(both letters node letters.mjs)" | tee out
echo "hyphen of a Python server: $(both hyphen python/bin/python hyphen.py)" | tee -a out
cat > expected <<'S'
letters of a TypeScript server: TypeScript answer, 1   Python Invalid schema for tool letters, 1
hyphen of a Python server: TypeScript Tool 'hyphen' has an invalid outputSchema, 0   Python answer, 1
S
cmp out expected
