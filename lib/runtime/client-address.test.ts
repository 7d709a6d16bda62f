/** Whose request it is that a limit counts: the socket's, or what a trusted proxy says (docs/wire.md, Limits). */
import { describe, expect, it } from "vitest";
import { parseEnv } from "#lib/env";
import { clientAddress, isFromThisMachine, PEER_HEADER } from "#lib/http/client-ip";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";

describe("whose request it is", () => {
  const feed = "/v1/agent/nobody";
  const run = async (
    hops: string,
    calls: { ip?: string; headers?: Record<string, string> }[],
    proxies = "",
  ) => {
    const test = await startTestApp(anyKind, {
      TRUSTED_PROXY_HOPS: hops,
      TRUSTED_PROXIES: proxies,
      LIMIT_FEED_PER_MINUTE: "3",
    });
    try {
      const statuses = [];
      for (const call of calls) statuses.push((await test.call("GET", feed, call)).status);
      return statuses;
    } finally {
      await test.close();
    }
  };
  const times = (n: number, make: (i: number) => { ip?: string; headers?: Record<string, string> }) =>
    Array.from({ length: n }, (_, i) => make(i));

  it("is the socket's without a trusted proxy, whatever is forged", async () => {
    const forged = times(4, (i) => ({
      headers: {
        "x-forwarded-for": `1.2.3.${i}`,
        "x-countersign-peer": `x 1.2.3.${i}`,
        forwarded: `for=1.2.3.${i}`,
      },
    }));
    expect(await run("0", [...forged, { ip: "10.0.0.2" }])).toEqual([404, 404, 404, 429, 404]);
  });

  it("is what the one trusted proxy saw, not what is left of it", async () => {
    const forged = times(4, (i) => ({ headers: { "x-forwarded-for": `9.9.9.${i}, 8.8.8.${i}, 5.5.5.5` } }));
    expect(await run("1", [...forged, { headers: { "x-forwarded-for": "5.5.5.5, 6.6.6.6" } }])).toEqual([
      404, 404, 404, 429, 404,
    ]);
  });

  it("is the second from the right behind two proxies, and the socket's where that is missing", async () => {
    const forged = times(4, (i) => ({ headers: { "x-forwarded-for": `9.9.9.${i}, 5.5.5.5, 7.7.7.${i}` } }));
    const short = times(4, (i) => ({ ip: "10.0.0.3", headers: { "x-forwarded-for": `9.9.9.${i}` } }));
    expect(await run("2", [...forged, ...short])).toEqual([404, 404, 404, 429, 404, 404, 404, 429]);
  });

  it("is the socket's where that is none of the named proxies, whatever it forwards", async () => {
    const past = times(4, (i) => ({ ip: "10.1.0.9", headers: { "x-forwarded-for": `5.5.5.${i}` } }));
    const through = times(4, (i) => ({ ip: "10.0.0.5", headers: { "x-forwarded-for": `6.6.6.${i}` } }));
    const mapped = times(2, (i) => ({ ip: "::ffff:10.0.0.5", headers: { "x-forwarded-for": `7.7.7.${i}` } }));
    const inNetwork = times(4, (i) => ({ ip: `fd00::${i}:5`, headers: { "x-forwarded-for": "8.8.8.8" } }));
    const calls = [...past, ...through, ...mapped, ...inNetwork];
    expect(await run("1", calls, "10.0.0.5, fd00::/8")).toEqual([
      ...[404, 404, 404, 429],
      ...[404, 404, 404, 404],
      ...[404, 404],
      ...[404, 404, 404, 429],
    ]);
  });

  it("is what the production server tells Next, and what nobody else can tell it", () => {
    const from = (value: string) => {
      const request = new Request("http://localhost/", { headers: { [PEER_HEADER]: value } });
      return clientAddress(request, "secret", { TRUSTED_PROXY_HOPS: 0, TRUSTED_PROXIES: undefined });
    };
    expect(["secret 192.0.2.1", "guess 192.0.2.1", "192.0.2.1"].map(from)).toEqual([
      "192.0.2.1",
      "unknown",
      "unknown",
    ]);
  });

  it("is this machine's if the socket says so, and whom a trusted proxy there forwards", () => {
    const isOwn = (peer: string, forwarded: string | null, hops = 0) => {
      const headers = new Headers({ [PEER_HEADER]: `secret ${peer}` });
      if (forwarded !== null) headers.set("x-forwarded-for", forwarded);
      const request = new Request("http://localhost/", { headers });
      return isFromThisMachine(request, "secret", { TRUSTED_PROXY_HOPS: hops, TRUSTED_PROXIES: undefined });
    };
    const own = [isOwn("::1", null), isOwn("127.0.0.9", "127.0.0.9"), isOwn("::ffff:127.0.0.1", "::1", 1)];
    expect(own).toEqual([true, true, true]);
    const others = [
      isOwn("192.168.0.5", null),
      isOwn("192.168.0.5", "127.0.0.1", 1),
      isOwn("127.0.0.1", "1.2.3.4", 1),
      isOwn("unknown", "127.0.0.1", 1),
    ];
    expect(others).toEqual([false, false, false, false]);
  });

  it("is not this machine's behind a proxy there that the settings don't name", () => {
    const isOwn = (added: Record<string, string>, settings: Record<string, string> = {}) => {
      const headers = new Headers({ [PEER_HEADER]: "secret 127.0.0.1", ...added });
      return isFromThisMachine(new Request("http://localhost/", { headers }), "secret", parseEnv(settings));
    };
    const elsewhere = { TRUSTED_PROXY_HOPS: "1", TRUSTED_PROXIES: "10.0.0.5" };
    for (const settings of [{}, elsewhere])
      for (const client of ["203.0.113.9", "127.0.0.1, 203.0.113.9", "203.0.113.9, ::1", "unknown"])
        expect([client, isOwn({ "x-forwarded-for": client }, settings)]).toEqual([client, false]);
    for (const settings of [{}, elsewhere, { TRUSTED_PROXY_HOPS: "1" }])
      expect(isOwn({ forwarded: "for=203.0.113.9" }, settings)).toBe(false);
    expect(isOwn({})).toBe(true);
  });

  it("is an IPv6 /64, an IPv4 also when mapped, and nonsense is one client", async () => {
    const network = times(4, (i) => ({ ip: `2001:db8:1:2:${i}::${i}` }));
    const mapped = [
      { ip: "::ffff:10.0.0.4" },
      { ip: "10.0.0.4" },
      { ip: "::ffff:10.0.0.4" },
      { ip: "10.0.0.4" },
    ];
    const zones = times(4, (i) => ({ ip: `fe80::${i}%eth0` }));
    const statuses = await run("0", [...network, { ip: "2001:db8:1:3::1" }, ...mapped, ...zones]);
    expect(statuses).toEqual([404, 404, 404, 429, 404, 404, 404, 404, 429, 404, 404, 404, 429]);
    const nonsense = times(4, (i) => ({ headers: { "x-forwarded-for": `nonsense${i}` } }));
    expect(await run("1", nonsense)).toEqual([404, 404, 404, 429]);
  });
});
