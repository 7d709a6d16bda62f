import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterEach, describe, expect, it } from "vitest";
import type { Mailer } from "#lib/services/accounts/context";
import { createResendMailer, createSmtpMailer } from "./transports";

const mail = {
  to: "a@example.com",
  subject: "059974 is your code",
  text: "Your code is 059974.",
  html: "<p>059974</p>",
};
const from = "Countersign <no-reply@example.com>";

let stop: () => Promise<void>;
afterEach(() => stop());

/**
 * Speaks Resend's POST /emails: 422 for a sender that it does not know, as the real one refuses it, and 409 for the key of
 * a mail that it has sent with other words.
 */
async function startResend(received: unknown[]): Promise<string> {
  const sent = new Map<unknown, string>();
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { from: string };
    const isKnown = request.headers.authorization === "Bearer re_test" && body.from === from;
    const key = request.headers["idempotency-key"];
    received.push({ path: request.url, ...(key !== undefined && { key }), ...body });
    const text = JSON.stringify(body);
    const isOther = key !== undefined && (sent.get(key) ?? text) !== text;
    const status = isKnown ? (isOther ? 409 : 200) : 422;
    if (status === 200) sent.set(key, text);
    const name = isOther ? "invalid_idempotent_request" : "validation_error";
    response.writeHead(status, { "content-type": "application/json" });
    response.end(
      JSON.stringify(status === 200 ? { id: "1" } : { statusCode: status, name, message: "refused" }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stop = () => new Promise((resolve) => server.close(() => resolve()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("mail through Resend", () => {
  it("hands the mail over", async () => {
    const received: unknown[] = [];
    await createResendMailer("re_test", from, await startResend(received)).send(mail);
    expect(received).toEqual([{ path: "/emails", from, ...mail }]);
  });

  it("names a second attempt at the same mail as one, and keeps other headers", async () => {
    const received: unknown[] = [];
    const headers = { "List-Unsubscribe": "<https://example.com/leave>" };
    const mailer = createResendMailer("re_test", from, await startResend(received));
    await mailer.send({ ...mail, headers, idempotencyKey: "areq_1/waiting/2" });
    expect(received).toEqual([{ path: "/emails", key: "areq_1/waiting/2", from, ...mail, headers }]);
  });

  it("takes a mail for sent that Resend has under its key, whatever its words were", async () => {
    const mailer = createResendMailer("re_test", from, await startResend([]));
    const once = { ...mail, idempotencyKey: "areq_1/waiting/2" };
    await mailer.send({ ...once, text: "It expires in 20 minutes." });
    await mailer.send({ ...once, text: "It expires in 19 minutes." });
  });

  it("says that mail cannot be sent where Resend refuses", async () => {
    const mailer = createResendMailer("re_test", "other@example.com", await startResend([]));
    await expect(mailer.send(mail)).rejects.toMatchObject({ errorName: "service_unavailable" });
  });
});

describe("mail through SMTP", () => {
  it("hands over sender, recipient, subject and both texts", async () => {
    const received: Buffer[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      onData: (stream, _session, done) => {
        stream.on("data", (chunk: Buffer) => received.push(chunk));
        stream.on("end", () => done());
      },
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    stop = () => new Promise((resolve) => server.close(() => resolve()));
    const { port } = server.server.address() as AddressInfo;
    const mailer = createSmtpMailer(`smtp://127.0.0.1:${port}`, from);
    const headers = { "List-Unsubscribe": "<https://example.com/leave>" };
    await mailer.send({ ...mail, headers, idempotencyKey: "areq_1/waiting/2" });
    const parsed = await PostalMime.parse(Buffer.concat(received));
    const first = parsed.messageId;
    expect(first).toMatch(/^<[0-9a-f]{64}@example\.com>$/);
    expect(parsed.headers.find(({ key }) => key === "list-unsubscribe")?.value).toBe(
      headers["List-Unsubscribe"],
    );
    received.length = 0;
    await mailer.send({ ...mail, idempotencyKey: "areq_1/waiting/2" });
    expect((await PostalMime.parse(Buffer.concat(received))).messageId).toBe(first);
    expect(parsed.from?.address).toBe("no-reply@example.com");
    expect(parsed.to?.[0]?.address).toBe(mail.to);
    expect(parsed.subject).toBe(mail.subject);
    expect(parsed.text?.trim()).toBe(mail.text);
    expect(parsed.html?.trim()).toBe(mail.html);
  });

  it("joins the mails of a thread, and no other, by the root that all of them refer to", async () => {
    const received: unknown[] = [];
    const mailer = createResendMailer("re_test", from, await startResend(received));
    for (const thread of [
      { key: "areq_1/2", isReply: false },
      { key: "areq_1/2", isReply: true },
      { key: "areq_2/2", isReply: false },
    ])
      await mailer.send({ ...mail, thread });
    const headers = (received as { headers: Record<string, string> }[]).map((one) => one.headers);
    const root = headers[0]?.["References"];
    expect(root).toMatch(/^<[0-9a-f]{64}@example\.com>$/);
    expect(headers.slice(0, 2)).toEqual([{ References: root }, { References: root, "In-Reply-To": root }]);
    expect(headers[2]?.["References"]).not.toBe(root);
  });

  it("says that mail cannot be sent where nobody answers", async () => {
    stop = async () => {};
    const mailer = createSmtpMailer("smtp://127.0.0.1:1", from);
    await expect(mailer.send(mail)).rejects.toMatchObject({ errorName: "service_unavailable" });
  });
});

describe("a mail service that takes a connection and says no more", () => {
  it.each<[string, string, (port: number) => Mailer]>([
    ["Resend", "", (port) => createResendMailer("re_test", from, `http://127.0.0.1:${port}`, 50)],
    ["SMTP", "220 mail\r\n", (port) => createSmtpMailer(`smtp://127.0.0.1:${port}`, from, 50)],
  ])("is given up after the time limit (%s)", async (_, greeting, makeMailer) => {
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) => {
      sockets.push(socket.on("error", () => {}));
      socket.write(greeting);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    stop = async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    };
    const { port } = server.address() as AddressInfo;
    await expect(makeMailer(port).send(mail)).rejects.toMatchObject({ errorName: "service_unavailable" });
  });
});
