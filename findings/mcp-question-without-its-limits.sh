#!/bin/sh
# @modelcontextprotocol/client 2.4.0 (npm), Node 20, beside mcp 2.3.0 (PyPI): a server in Python asks its user by a form
# (elicitation), and sends what pydantic says about each field. The TypeScript client hands its handler a copy that lacks `pattern`,
# which the protocol has for texts (2025-11-25, client/elicitation), and what it doesn't have: `exclusiveMinimum`, `multipleOf` and a
# choice among numbers, of which neither side says a word. `minimum` and a choice among texts are kept. No form can show the others
# or hold an answer to them: the client lets it pass, the server refuses it, and the call has failed, for it isn't asked twice. The
# Python client hands out all of them. Of `pattern`, known upstream as #1844.
# Output (limits in the client's handler; what the server made of an answer that breaks them):
#   sent to TypeScript: minimum, text of choice   Python: minimum, text of choice, more than, multiple, number of choice, pattern
#   TypeScript: accepted by the client, does not match the requested schema
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @modelcontextprotocol/client@2.4.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat > server.py <<'S'
from typing import Annotated, Literal
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field
class Payment(BaseModel):
    cents: Annotated[int, Field(ge=100)]
    currency: Literal["EUR", "USD"]
    rate: Annotated[float, Field(gt=0)]
    lot: Annotated[int, Field(multiple_of=5)]
    urgency: Literal[1, 2]
    reference: Annotated[str, Field(pattern="^INV-[0-9]+$")]
server = MCPServer("s")
@server.tool()
async def pay(ctx: Context) -> str:
    try:
        return (await ctx.elicit("Which payment?", schema=Payment)).action
    except ValueError as error:
        return "does not match the requested schema" if "does not match the requested schema" in str(error) else str(error)
server.run("stdio")
S
cat > answer.json <<'S'
{ "cents": 100, "currency": "EUR", "rate": 0, "lot": 4, "urgency": 3, "reference": "114" }
S
cat > client.mjs <<'S'
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const client = new Client({ name: "c", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const content = JSON.parse(readFileSync("answer.json"));
client.setRequestHandler("elicitation/create", ({ params }) => {
  console.log(JSON.stringify(params.requestedSchema.properties));
  return { action: "accept", content };
});
await client.connect(new StdioClientTransport({ command: "python/bin/python", args: ["server.py"], stderr: "ignore" }));
const { content: answer } = await client.callTool({ name: "pay", arguments: {} });
console.log(answer[0].text);
await client.close();
S
cat > client.py <<'S'
import asyncio, json
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult
async def answer(_, params):
    print(json.dumps(params.requested_schema["properties"]))
    return ElicitResult(action="accept", content=json.load(open("answer.json")))
async def call():
    async with stdio_client(StdioServerParameters(command="python/bin/python", args=["server.py"])) as streams:
        async with ClientSession(*streams, elicitation_callback=answer) as session:
            await session.initialize()
            print((await session.call_tool("pay", {})).content[0].text)
asyncio.run(call())
S
cat > name.mjs <<'S'
import { readFileSync } from "node:fs";
const fields = JSON.parse(readFileSync(process.argv[2], "utf8").split("\n")[0]);
const limits = [
  ["minimum", fields.cents.minimum],
  ["text of choice", fields.currency.enum],
  ["more than", fields.rate.exclusiveMinimum],
  ["multiple", fields.lot.multipleOf],
  ["number of choice", fields.urgency.enum],
  ["pattern", fields.reference.pattern],
];
console.log(limits.filter(([, limit]) => limit !== undefined).map(([name]) => name).join(", "));
S
node client.mjs >typescript
python/bin/python client.py >python.out 2>/dev/null
{
  echo "sent to TypeScript: $(node name.mjs typescript)   Python: $(node name.mjs python.out)"
  echo "TypeScript: accepted by the client, $(tail -n 1 typescript)"
} | tee out
cat > expected <<'S'
sent to TypeScript: minimum, text of choice   Python: minimum, text of choice, more than, multiple, number of choice, pattern
TypeScript: accepted by the client, does not match the requested schema
S
cmp out expected
