import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { sendResponse } from "./node-http";

const long = "a".repeat(100_000);

it.each(["", "short", "kürz", long, `${long}ü€😀`])("sends text as it is, however long: %#", async (text) => {
  const server = createServer(
    (_, outgoing) => void sendResponse({ status: 200, headers: {}, text }, outgoing),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(await answer.text()).toBe(text);
    expect(answer.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
