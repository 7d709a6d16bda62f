import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterEach, describe, expect, it } from "vitest";
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

/** Speaks Resend's POST /emails: 422 for a sender that it does not know, as the real one refuses it. */
async function startResend(received: unknown[]): Promise<string> {
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { from: string };
    const isKnown = request.headers.authorization === "Bearer re_test" && body.from === from;
    received.push({ path: request.url, ...body });
    response.writeHead(isKnown ? 200 : 422, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        isKnown ? { id: "1" } : { statusCode: 422, name: "validation_error", message: "unknown sender" },
      ),
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
    await createSmtpMailer(`smtp://127.0.0.1:${port}`, from).send(mail);
    const parsed = await PostalMime.parse(Buffer.concat(received));
    expect(parsed.from?.address).toBe("no-reply@example.com");
    expect(parsed.to?.[0]?.address).toBe(mail.to);
    expect(parsed.subject).toBe(mail.subject);
    expect(parsed.text?.trim()).toBe(mail.text);
    expect(parsed.html?.trim()).toBe(mail.html);
  });

  it("says that mail cannot be sent where nobody answers", async () => {
    stop = async () => {};
    const mailer = createSmtpMailer("smtp://127.0.0.1:1", from);
    await expect(mailer.send(mail)).rejects.toMatchObject({ errorName: "service_unavailable" });
  });
});
