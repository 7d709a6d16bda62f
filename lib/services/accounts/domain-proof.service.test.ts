/** Guarantee: a token is found where it was published, and nowhere else; silence is no answer; nobody inside is asked. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Resolve } from "#lib/jobs/guarded-request";
import { type DomainWorld, startDomainWorld } from "#support/domain-world";
import { domainProbe, fetchProofFile, fileUrl, lookForProof, proofLine, recordName } from "./domains";

const domain = "example.com";
const token = "ab".repeat(16);
const line = proofLine(token);
const record = recordName(domain);

let world: DomainWorld;
beforeAll(async () => {
  world = await startDomainWorld();
});
beforeEach(() => {
  world.names.records.clear();
  world.web.answer = () => ({ status: 404 });
  world.web.received.length = 0;
});
afterAll(() => world.close());

const look = () => lookForProof(world.probe, domain, token);

it("is at the names that the instructions say", () => {
  expect([record, fileUrl(domain), line]).toEqual([
    "_countersign.example.com",
    "https://example.com/.well-known/countersign.txt",
    `countersign-verification=${token}`,
  ]);
});

describe("the TXT record", () => {
  it.each([
    ["alone", [line]],
    ["among others", ["v=spf1 -all", line]],
    ["with white space around it", [` ${line}\n`]],
  ])("is found %s", async (_what, texts) => {
    world.names.records.set(record, texts);
    expect((await look()).dns).toEqual({ state: "found", problem: null });
  });

  it.each([
    ["of another token", [proofLine("cd".repeat(16))]],
    ["that only begins like it", [`${line}0`]],
    ["that is longer than a part", ["x".repeat(300)]],
  ])("%s is not it", async (_what, texts) => {
    world.names.records.set(record, texts);
    expect((await look()).dns).toEqual({ state: "gone", problem: "DNS has a TXT record, but not this one" });
  });

  it("is gone where the name has none, or does not exist", async () => {
    expect((await look()).dns).toEqual({ state: "gone", problem: "DNS has no such TXT record" });
    world.names.records.set(record, []);
    expect((await look()).dns).toEqual({ state: "gone", problem: "DNS has no such TXT record" });
  });

  it("is neither there nor gone where the name server fails", async () => {
    world.names.records.set(record, null);
    expect((await look()).dns).toEqual({ state: "no answer", problem: "DNS gave no answer (ESERVFAIL)" });
  });
});

describe("the file", () => {
  const serve = (status: number, body = "", headers = {}) => {
    world.web.answer = () => ({ status, body, headers });
  };

  it("is found by one of its lines", async () => {
    serve(200, `# ours\r\n${line}\r\nmore\r\n`);
    expect((await look()).file).toEqual({ state: "found", problem: null });
    expect(world.web.received.map(({ path }) => path)).toEqual(["/.well-known/countersign.txt"]);
  });

  it.each([
    [200, "something else", "the file doesn't have this line"],
    [200, `<p>${line}</p>`, "the file doesn't have this line"],
    [404, line, "the file: HTTP 404"],
    [403, line, "the file: HTTP 403"],
    [200, `${line}\n${"x".repeat(4_096)}`, "the file is larger than 4096 bytes"],
  ])("is gone with HTTP %i", async (status, body, problem) => {
    serve(status, body);
    expect((await look()).file).toEqual({ state: "gone", problem });
  });

  it.each([301, 302, 307, 308])("is not looked for where a redirect leads (%i)", async (status) => {
    world.web.answer = ({ path }) =>
      path === "/elsewhere" ? { status: 200, body: line } : { status, headers: { location: "/elsewhere" } };
    expect((await look()).file).toEqual({ state: "gone", problem: `the file: HTTP ${status}` });
    expect(world.web.received).toHaveLength(1);
  });

  it.each([429, 500, 503])("is neither there nor gone with %i", async (status) => {
    serve(status, line);
    expect((await look()).file).toEqual({ state: "no answer", problem: `the file: HTTP ${status}` });
  });

  it.each([
    ["ECONNREFUSED", "no answer"],
    ["CERT_HAS_EXPIRED", "no answer"],
    ["ENOTFOUND", "gone"],
    ["ENODATA", "gone"],
  ])("without an answer (%s): %s", async (code, state) => {
    const fetchFile = async () => ({ status: null, problem: `no connection (${code})`, code });
    const { file } = await lookForProof({ ...world.probe, fetchFile }, domain, token);
    expect(file.state).toBe(state);
  });
});

describe("in production", () => {
  const to =
    (...addresses: string[]): Resolve =>
    (_name, done) =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );

  it.each([
    ["a private address", ["10.0.0.1"]],
    ["this machine", ["127.0.0.1"]],
    ["the cloud's metadata", ["169.254.169.254"]],
    ["a mapped address", ["::ffff:10.0.0.1"]],
    ["a public and a private address", ["93.184.216.34", "192.168.0.1"]],
  ])("a domain that leads to %s is not connected to", async (_what, addresses) => {
    const answer = await fetchProofFile(fileUrl(domain), { mayBeLoopback: false, resolve: to(...addresses) });
    expect(answer).toMatchObject({
      status: null,
      problem: "its name leads to an address that is not public",
    });
  });

  it("only https is asked, and never this machine", async () => {
    const insideUrl = new URL("/.well-known/countersign.txt", world.web.url).href;
    for (const fetch of [domainProbe.fetchFile, fetchProofFile])
      expect(await fetch(insideUrl)).toMatchObject({ status: null, problem: "its URL must be an https URL" });
    expect(world.web.received).toEqual([]);
  });
});
