/** Page in place of one that Next couldn't make: words and a way on, whoever reads them and without a script. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { explainFailure } from "./page-failure";

let close = async () => {};
afterEach(() => close());

async function serve(
  isReachable: boolean,
  answer: (outgoing: ServerResponse) => void,
  page = { isMalformed: false, isNotFound: false },
) {
  const error = vi.fn();
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    const database = { wasReachableSince: () => isReachable };
    explainFailure(
      incoming,
      outgoing,
      { database, logger: { error }, random: (n) => new Uint8Array(n) },
      page,
    );
    answer(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => new Promise((resolve) => server.close(() => resolve()));
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, error };
}

/** Fails like Next: the head on its own, then the body in pieces. */
function failAsNext(outgoing: ServerResponse): void {
  outgoing.statusCode = 500;
  outgoing.setHeader("content-encoding", "gzip");
  outgoing.flushHeaders();
  outgoing.write("<html id=__next_error__>");
  outgoing.end("empty");
}

const html = { accept: "text/html" };

describe("a page that says that something isn't there", () => {
  it("is 404, and what leads elsewhere still does", async () => {
    const answerWith = (status: number) => (outgoing: ServerResponse) => {
      outgoing.statusCode = status;
      outgoing.end("Unknown");
    };
    for (const [status, answered] of [
      [200, 404],
      [308, 308],
    ] as const) {
      const { base } = await serve(true, answerWith(status), { isMalformed: false, isNotFound: true });
      const answer = await fetch(base, { headers: html, redirect: "manual" });
      expect([answer.status, await answer.text()]).toEqual([answered, "Unknown"]);
      await close();
    }
  });
});

describe("a page that couldn't be made", () => {
  it("is 503 in words that come back by themselves while the database is away", async () => {
    const { base } = await serve(false, failAsNext);
    const answer = await fetch(`${base}/approve/x`, { headers: html });
    const text = await answer.text();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(text).toContain('<meta http-equiv="refresh" content="5">');
    expect(text).toContain("we don't know whether it went through");
    expect(text).not.toMatch(/__next_error__|Nothing was|empty/);
  });

  it("is 500 with a reference that the log has, and isn't asked for again", async () => {
    const { base, error } = await serve(true, failAsNext);
    const text = await (await fetch(base, { headers: html })).text();
    const [logged] = error.mock.calls.flat() as { reference: string }[];
    expect(text).toContain(logged?.reference ?? "no reference was logged");
    expect(text).not.toContain("http-equiv");
  });

  it("leads a form that was posted back to where it stood, and to no other host", async () => {
    const { base } = await serve(false, failAsNext);
    const post = async (referer: string) =>
      (
        await fetch(`${base}/portal/sign-in/verify`, { method: "POST", headers: { ...html, referer } })
      ).text();
    expect(await post(`${base}/portal/sign-in/confirm?token=a"b`)).toContain(
      "url=/portal/sign-in/confirm?token=a%22b",
    );
    expect(await post(`${base}//evil.example/x`)).toContain("url=/evil.example/x");
    expect(await post("https://evil.example/x")).not.toContain("evil");
  });

  it("is left to Next where its own script asks, and so is every other answer", async () => {
    const { base } = await serve(false, (outgoing) => outgoing.writeHead(500).end("flight"));
    for (const name of ["rsc", "next-action"]) {
      const answer = await fetch(base, { headers: { ...html, [name]: "1" } });
      expect([answer.status, await answer.text()]).toEqual([503, "flight"]);
    }
    await close();
    const fine = await serve(false, (outgoing) => outgoing.end("fine"));
    const answer = await fetch(fine.base, { headers: html });
    expect([answer.status, await answer.text()]).toEqual([200, "fine"]);
  });
});
