/**
 * Sends bytes that no well-behaved client sends: upgrades, malformed targets, forbidden methods; and reads the log of
 * them.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { callServer, type ServerProcess } from "./server-process";

const upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAA\r\n";

/** Sends the signal to stop in its last test. */
export function testWire(getServer: () => ServerProcess): void {
  describe("on the wire", () => {
    let server: ServerProcess;
    beforeAll(() => {
      server = getServer();
    });

    const own = () => `localhost:${server.port}`;
    /** The answer to `line` and `headers` (each with CRLF), up to the end of its head. */
    async function sendRaw(line: string, headers = "Connection: close\r\n", body = ""): Promise<string> {
      const socket = connect(server.port, "localhost");
      socket.setTimeout(20_000, () => socket.destroy());
      socket.write(Buffer.from(`${line} HTTP/1.1\r\nHost: ${own()}\r\n${headers}\r\n${body}`, "latin1"));
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        if (text.includes("\r\n\r\n")) socket.end();
      });
      await once(socket, "close");
      return text;
    }
    const statusOf = async (...request: Parameters<typeof sendRaw>) =>
      Number((await sendRaw(...request)).split(" ")[1] ?? 0);

    it("answers a request that offers another protocol as if it did not", async () => {
      expect((await callServer(server.base, "GET", "/")).status).toBe(200);
      for (const target of ["/v1/health", "/", "/docs"])
        expect([target, await statusOf(`GET ${target}`, upgrade)]).toEqual([target, 200]);
      const withBody = await statusOf("POST /v1/attest", `${upgrade}Content-Length: 2\r\n`, "{}");
      expect(withBody).toBe(401);
    });

    it("answers OPTIONS * and refuses the methods that nothing has", async () => {
      expect(await sendRaw("OPTIONS *")).toMatch(/^HTTP\/1\.1 204 [\s\S]*allow: .*POST/i);
      for (const [line, allow] of [
        ["TRACE /", "GET, HEAD, POST"],
        ["TRACE /v1/attest", "POST, OPTIONS"],
        ["TRACE /request/a", "GET, HEAD, OPTIONS"],
        ["CONNECT example.com:443", "GET, HEAD, POST"],
      ]) {
        const answer = await sendRaw(line ?? "");
        expect([line, answer.split(" ")[1]]).toEqual([line, "405"]);
        expect(/^allow: (.*)$/im.exec(answer)?.[1]?.trim()).toBe(allow);
        expect(answer).toMatch(/content-type: application\/problem\+json/i);
      }
    });

    it("refuses a sign-in whose body is no form", async () => {
      const path = "/portal/sign-in/verify";
      const headers = { origin: server.base, "sec-fetch-site": "same-origin" };
      const post = (type: string, rawBody: string) =>
        callServer(server.base, "POST", path, { rawBody, headers: { ...headers, "content-type": type } });
      expect((await post("application/json", "{}")).status).toBe(400);
      expect((await post("multipart/form-data; boundary=x", "--y")).status).toBe(400);
    });

    it("runs an action of the portal for a page of ours alone", async () => {
      const html: string = (await callServer(server.base, "GET", "/portal/sign-in")).body;
      const hidden = [...html.matchAll(/<input type="hidden" name="(\$ACTION[^"]*)"(?: value="([^"]*)")?/g)];
      expect(hidden.length).toBeGreaterThan(0);
      const ask = async (email: string, headers: Record<string, string>) => {
        const form = new FormData();
        for (const [, name = "", value = ""] of hidden) form.append(name, value.replaceAll("&quot;", '"'));
        form.append("email", email);
        await fetch(`${server.base}/portal/sign-in`, { method: "POST", headers, body: form });
        const accept = { headers: { accept: "application/json" } };
        const { messages } = (await callServer(server.base, "GET", "/dev/mailbox", accept)).body;
        return messages.some(({ to }: { to: string }) => to === email);
      };
      expect(await ask("none@example.com", {})).toBe(false);
      expect(await ask("foreign@example.com", { origin: "https://evil.example" })).toBe(false);
      // Next compares with the client's own headers; what is ours is known here.
      const forged = { origin: "https://evil.example", "x-forwarded-host": "evil.example" };
      expect(await ask("forged@example.com", forged)).toBe(false);
      expect(await ask("own@example.com", { origin: server.base })).toBe(true);
    });

    it("writes nothing but JSON lines, in which nothing is left for a terminal to obey", async () => {
      await statusOf(
        "POST /portal/sign-in",
        `Next-Action: \x9b31mFORGED\x85{"level":30}\r\nContent-Length: 0\r\n`,
      );
      await statusOf(
        "POST /portal/sign-in",
        "Next-Action: 00\r\nContent-Type: multipart/form-data\r\nContent-Length: 1\r\n",
        "x",
      );
      await vi.waitFor(() => expect(server.output()).toContain("FORGED"), 60_000);
      for (const line of server.output().trim().split("\n")) {
        expect(() => JSON.parse(line), line).not.toThrow();
        expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      }
    });

    it("takes no new connection after the signal to stop, while one is open", async () => {
      const socket = connect(server.port, "localhost");
      socket.on("error", () => {});
      socket.write(`POST /v1/keys/request HTTP/1.1\r\nHost: ${own()}\r\nContent-Length: 10\r\n\r\n{`);
      await once(socket, "connect");
      await callServer(server.base, "GET", "/v1/health");
      server.child.kill("SIGTERM");
      const isLetIn = () =>
        fetch(`${server.base}/v1/health`).then(
          () => true,
          () => false,
        );
      await expect.poll(isLetIn).toBe(false);
    });
  });
}
