#!/bin/sh
# github.com/modelcontextprotocol/go-sdk 1.8.0, Go 1.26: the client hands out a tool's `input_required` result that has a
# `requestState` and no `inputRequests` (protocol 2026-07-28 asks for one of the two) as the result of the call, without an
# error: no content, not isError. With an empty `inputRequests` it calls again, as the TypeScript and Python clients do with
# either.
# Output:  absent: 0 contents, 1 call   empty: 1 contents, 2 calls
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > server.mjs <<'S'
import { createInterface } from "node:readline";
const isAbsent = process.argv[2] === "absent";
let calls = 0;
for await (const text of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(text);
  const send = (result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  if (method === "server/discover") {
    const serverInfo = { name: "s", version: "1" };
    send({ resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, serverInfo });
  } else if (method === "tools/call") {
    calls += 1;
    if (params.requestState === undefined)
      send({ resultType: "input_required", requestState: "s", ...(!isAbsent && { inputRequests: {} }) });
    else send({ resultType: "complete", content: [{ type: "text", text: "done" }] });
    process.stderr.write(`${calls}\n`);
  }
}
S
cat > main.go <<'G'
package main

import (
	"context"
	"fmt"
	"log"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func try(how string) string {
	ctx := context.Background()
	command := exec.Command("node", "server.mjs", how)
	var calls strings.Builder
	command.Stderr = &calls
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "t"})
	if err != nil || result.IsError {
		log.Fatal(err, result)
	}
	session.Close()
	return fmt.Sprintf("%s: %d contents, %d call", how, len(result.Content), strings.Count(calls.String(), "\n"))
}

func main() { fmt.Printf("%s   %ss\n", try("absent"), try("empty")) }
G
go mod init finding 2>/dev/null
go get github.com/modelcontextprotocol/go-sdk@v1.8.0 2>/dev/null
go mod tidy 2>/dev/null
found=$(go run .)
echo "$found"
[ "$found" = "absent: 0 contents, 1 call   empty: 1 contents, 2 calls" ]
