#!/bin/sh
# @anthropic-ai/claude-code 2.1.332 (npm, linux-x64), Node 20: the span of a tool that failed (gen_ai.operation.name
# "execute_tool") has no error. Its status is unset and it has neither success nor error.type, as if the tool had succeeded.
# Both are on a child span, claude_code.tool.execution, which has neither gen_ai.operation.name nor the tool's name. Who
# reads spans by the GenAI conventions alone counts every tool of Claude Code as a success.
# Output (failed, status code):  execute_tool: false 0   claude_code.tool.execution: true 2
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @anthropic-ai/claude-code@2.1.332 >/dev/null
cat > run.mjs <<'S'
import { spawn } from "node:child_process";
import { createServer } from "node:http";
const spans = [];
const events = (blocks) => [
  { type: "message_start", message: { id: "m", type: "message", role: "assistant", model: "stub", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } },
  ...blocks.flatMap(({ start, delta }, index) => [
    { type: "content_block_start", index, content_block: start },
    { type: "content_block_delta", index, delta },
    { type: "content_block_stop", index },
  ]),
  { type: "message_delta", delta: { stop_reason: blocks[0].start.type === "text" ? "end_turn" : "tool_use", stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
];
const text = { start: { type: "text", text: "" }, delta: { type: "text_delta", text: "done" } };
const tool = { start: { type: "tool_use", id: "toolu_1", name: "Bash", input: {} }, delta: { type: "input_json_delta", partial_json: '{"command":"false"}' } };
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  if (request.url === "/v1/traces") {
    for (const { scopeSpans } of JSON.parse(body).resourceSpans) for (const one of scopeSpans) spans.push(...one.spans);
    return response.writeHead(200, { "content-type": "application/json" }).end("{}");
  }
  const { tools = [] } = body === "" ? {} : JSON.parse(body);
  const blocks = body.includes("tool_result") || tools.length === 0 ? [text] : [tool];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events(blocks).map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(""));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const env = {
  PATH: process.env.PATH, HOME: process.cwd(), CLAUDE_CONFIG_DIR: `${process.cwd()}/configuration`, IS_SANDBOX: "1",
  ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: "x", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_ENABLE_TELEMETRY: "1", CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "1", OTEL_TRACES_EXPORTER: "otlp",
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_ENDPOINT: base,
};
const program = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";
const child = spawn(program, ["-p", "go", "--model", "stub", "--dangerously-skip-permissions"], { env, stdio: ["ignore", "ignore", "ignore"] });
await new Promise((resolve) => child.on("close", resolve));
server.close();
const show = (name, value) => {
  const span = spans.find(({ attributes }) => attributes.some((one) => one.key === name && one.value.stringValue === value));
  const failed = span.attributes.some(({ key, value: { boolValue } }) => key === "error.type" || (key === "success" && boolValue === false));
  return `${failed} ${span.status.code}`;
};
console.log(`execute_tool: ${show("gen_ai.operation.name", "execute_tool")}   claude_code.tool.execution: ${show("span.type", "tool.execution")}`);
S
found=$(node run.mjs)
echo "$found"
[ "$found" = "execute_tool: false 0   claude_code.tool.execution: true 2" ]
