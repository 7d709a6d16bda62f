#!/bin/sh
# @modelcontextprotocol/client 2.4.0 (npm), Node 20: a progress notification that arrives in the same read of standard
# output as the answer to its request never reaches onprogress, because the answer removes the handler first. The order on
# the wire is right: notification, then answer. Sent in two writes with a pause, it arrives.
# Output:  one write: 0 progress   two writes: 1 progress
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @modelcontextprotocol/client@2.4.0 >/dev/null
cat > server.mjs <<'S'
import { createInterface } from "node:readline";
const pause = Number(process.argv[2]);
const line = (message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
for await (const text of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(text);
  if (method === "initialize") {
    const serverInfo = { name: "s", version: "1" };
    process.stdout.write(line({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } }));
  } else if (method === "tools/call") {
    const { progressToken } = params._meta;
    const progress = line({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    const answer = line({ id, result: { content: [] } });
    if (pause === 0) process.stdout.write(progress + answer);
    else {
      process.stdout.write(progress);
      setTimeout(() => process.stdout.write(answer), pause);
    }
  }
}
S
cat > client.mjs <<'C'
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const count = async (pause) => {
  const client = new Client({ name: "c", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ["server.mjs", String(pause)] }));
  let seen = 0;
  await client.callTool({ name: "t", arguments: {} }, { onprogress: () => (seen += 1) });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await client.close();
  return seen;
};
console.log(`one write: ${await count(0)} progress   two writes: ${await count(300)} progress`);
C
found=$(node client.mjs)
echo "$found"
[ "$found" = "one write: 0 progress   two writes: 1 progress" ]
