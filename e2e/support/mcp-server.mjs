/** MCP server over stdio for tests, in both eras. Its first argument names a file whose text is in a tool's description. */
import { appendFileSync, readFileSync } from "node:fs";
import { inputRequired, inputResponse, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const [, , descriptionFile, ranFile] = process.argv;

serveStdio(() => {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  const text = (value) => ({ content: [{ type: "text", text: value }] });
  const description = `Pays. ${readFileSync(descriptionFile, "utf8")}`;
  server.registerTool(
    "pay",
    { description, inputSchema: z.object({ cents: z.number().min(0) }) },
    ({ cents }) => {
      appendFileSync(ranFile, `${cents}\n`);
      return text(`paid ${cents}`);
    },
  );
  server.registerTool("fail", { inputSchema: z.object({}) }, () => ({ ...text("no money"), isError: true }));
  server.registerTool("read", { inputSchema: z.object({}) }, () => text("balance 7"));
  server.registerTool("key", { inputSchema: z.object({}) }, () =>
    text(
      Object.keys(process.env)
        .filter((name) => name.startsWith("COUNTERSIGN"))
        .join(),
    ),
  );
  server.registerTool("sign", { inputSchema: z.object({}) }, (_input, { mcpReq }) => {
    const response = inputResponse(mcpReq.inputResponses, "pin");
    if (response.kind !== "missing") return text(`${response.action} ${mcpReq.requestState()}`);
    const requestedSchema = { type: "object", properties: { pin: { type: "string" } } };
    const pin = inputRequired.elicit({ message: "PIN", requestedSchema });
    return inputRequired({ inputRequests: { pin }, requestState: "once" });
  });
  server.registerTool("advise", { inputSchema: z.object({}) }, (_input, { mcpReq }) => {
    const response = inputResponse(mcpReq.inputResponses, "advice");
    if (response.kind !== "missing") return text(`${response.result.content.text} ${mcpReq.requestState()}`);
    const messages = [{ role: "user", content: { type: "text", text: "Pay?" } }];
    const advice = inputRequired.createMessage({ messages, maxTokens: 7 });
    return inputRequired({ inputRequests: { advice }, requestState: "once" });
  });
  server.registerResource("rates", "bank://rates", {}, () => ({
    contents: [{ uri: "bank://rates", text: "7 %" }],
  }));
  server.registerPrompt("greet", {}, () => ({
    messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
  }));
  return server;
});
