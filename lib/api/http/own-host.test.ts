/** Hosts that a request names: ours in any spelling, somebody else's, or none at all. */
import { describe, expect, it } from "vitest";
import { AppError } from "#lib/errors";
import { parseHost } from "#lib/protocol/text/host";
import { type HostClaim, listOwnHosts, requireOwnHost } from "./host-check";

const loopback = listOwnHosts("http://localhost:3000", 3000);
const production = listOwnHosts("https://countersign.example", 3000);

const outcome = (own: typeof loopback, claim: Partial<HostClaim>): string => {
  try {
    return requireOwnHost({ hosts: [], path: "/", ...claim }, own);
  } catch (error) {
    return error instanceof AppError ? error.errorName : String(error);
  }
};

describe("a host", () => {
  it("is ours in every spelling of the same name", () => {
    for (const [host, name] of [
      ["localhost:3000", "localhost:3000"],
      ["LocalHost:3000", "localhost:3000"],
      ["localhost.:3000", "localhost:3000"],
      ["127.0.0.1:3000", "127.0.0.1:3000"],
      ["[::1]:3000", "[::1]:3000"],
      ["[0:0:0:0:0:0:0:1]:3000", "[::1]:3000"],
    ] as const)
      expect([host, outcome(loopback, { hosts: [host] })]).toEqual([host, name]);
    for (const host of [
      "countersign.example",
      "countersign.example:443",
      "COUNTERSIGN.example.",
      "countersign.example:",
    ])
      expect([host, outcome(production, { hosts: [host] })]).toEqual([host, "countersign.example"]);
  });

  it("is foreign with another name or port, also where the name leads here", () => {
    for (const host of [
      "evil.example:3000",
      "localhost.evil.example:3000",
      "evil.localhost:3000",
      "0.0.0.0:3000",
      "2130706433:3000",
      "127.1:3000",
      "0x7f.0.0.1:3000",
      "127.0.0.2:3000",
      "[::ffff:127.0.0.1]:3000",
      "192.168.1.5:3000",
      "localhost",
      "localhost:80",
      "localhost:3001",
      "localhost..:3000",
    ])
      expect([host, outcome(loopback, { hosts: [host] })]).toEqual([host, "misdirected_request"]);
    for (const host of [
      "evil.example",
      "countersign.example:80",
      "countersign.example:3000",
      "www.countersign.example",
      "localhost:3000",
      "10.0.0.7:3000",
    ])
      expect([host, outcome(production, { hosts: [host] })]).toEqual([host, "misdirected_request"]);
  });

  it("must be one, and nothing but a host", () => {
    for (const own of [loopback, production]) {
      expect(outcome(own, {})).toBe("misdirected_request");
      expect(outcome(own, { hosts: [""] })).toBe("misdirected_request");
      expect(outcome(own, { hosts: [own.authority, "evil.example"] })).toBe("bad_request");
      expect(outcome(own, { hosts: [own.authority, own.authority] })).toBe("bad_request");
      for (const host of [
        `user@${own.authority}`,
        `${own.authority}@evil.example`,
        `${own.authority},evil.example`,
        `${own.authority} evil.example`,
        `${own.authority}/`,
        `evil.example/${own.authority}`,
        `${own.authority}#`,
        "localhost:99999",
        "localhost:+3000",
        "[::1",
        "[:::::]:3000",
        "[::1%25lo]:3000",
        "%6cocalhost:3000",
        "ⅼocalhost:3000",
        ":3000",
        ".",
      ])
        expect([host, outcome(own, { hosts: [host] })]).toEqual([host, "bad_request"]);
    }
  });

  it("is the target's too, where the target has one", () => {
    const hosts = ["localhost:3000"];
    expect(outcome(loopback, { hosts, targetAuthority: "LOCALHOST:3000" })).toBe("localhost:3000");
    expect(outcome(loopback, { targetAuthority: "localhost:3000" })).toBe("localhost:3000");
    expect(outcome(loopback, { hosts, targetAuthority: "evil.example" })).toBe("bad_request");
    expect(outcome(loopback, { hosts, targetAuthority: "127.0.0.1:3000" })).toBe("bad_request");
    expect(outcome(loopback, { hosts, targetAuthority: "" })).toBe("bad_request");
    expect(outcome(loopback, { hosts: ["evil.example"], targetAuthority: "localhost:3000" })).toBe(
      "bad_request",
    );
    const evil = { hosts: ["evil.example"], targetAuthority: "evil.example" };
    expect(outcome(loopback, evil)).toBe("misdirected_request");
    const smuggled = { hosts: ["user@evil.example"], targetAuthority: "user@evil.example" };
    expect(outcome(loopback, smuggled)).toBe("bad_request");
  });

  it("is what a trusted proxy forwards, where that says one", () => {
    const hosts = ["10.0.0.7:3000"];
    expect(outcome(production, { hosts, forwardedHost: "countersign.example" })).toBe("countersign.example");
    const evil = { hosts: ["countersign.example"], forwardedHost: "evil.example" };
    expect(outcome(production, evil)).toBe("misdirected_request");
  });

  it("may be an address, localhost or none for a public server's health, and for nothing else", () => {
    const probes = [["10.0.0.7:3000"], ["[fd00::7]:3000"], ["127.0.0.1"], ["localhost:3000"], [""], []];
    for (const hosts of probes) {
      for (const path of ["/v1/health", "//v1/health"])
        expect([hosts, outcome(production, { hosts, path })]).toEqual([hosts, "countersign.example"]);
      for (const path of ["/v1/pubkey", "/v1/health/x", "/"])
        expect([hosts, path, outcome(production, { hosts, path })]).toEqual([
          hosts,
          path,
          "misdirected_request",
        ]);
    }
    for (const host of ["evil.example", "health.localhost:3000", "1.2.3.4.evil.example"])
      expect(outcome(production, { hosts: [host], path: "/v1/health" })).toBe("misdirected_request");
    expect(outcome(loopback, { hosts: ["10.0.0.7:3000"], path: "/v1/health" })).toBe("misdirected_request");
  });

  it("of a loopback server may end on the port it binds, behind a tunnel of another", () => {
    const tunnelled = listOwnHosts("http://a.localhost:8080", 3000);
    for (const host of ["a.localhost:8080", "localhost:3000", "127.0.0.1:8080"])
      expect(outcome(tunnelled, { hosts: [host] })).toBe(host);
    expect(outcome(tunnelled, { hosts: ["b.localhost:8080"] })).toBe("misdirected_request");
  });
});

it("reading a host never throws", () => {
  for (let i = 0; i < 256; i += 1)
    for (const text of [
      String.fromCharCode(i),
      `[${String.fromCharCode(i)}]`,
      `a${String.fromCharCode(i)}:1`,
    ])
      expect(() => parseHost(text, 80)).not.toThrow();
});
