/** Client that a limit counts a request for: the socket's address, or what a trusted proxy says (docs/wire.md, Limits). */
import { describe, expect, it } from "vitest";
import { clientAddress, isFromThisMachine, PEER_HEADER, rememberPeer } from "#lib/api/http/rate-limit";
import { parseEnv } from "#lib/env";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";

interface Asked {
  ip?: string;
  headers?: Record<string, string>;
}

const forwarded = (text: string): Asked => ({ headers: { "x-forwarded-for": text } });
const times = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i));

/** The clients as which a limit counts the requests. */
const clientsOf = (asked: readonly Asked[], hops: number, proxies = "") =>
  asked.map(({ ip = "127.0.0.1", headers = {} }) => {
    const request = new Request("http://localhost/", { headers });
    rememberPeer(request, ip);
    const settings = parseEnv({ TRUSTED_PROXY_HOPS: String(hops), TRUSTED_PROXIES: proxies });
    return clientAddress(request, "secret", settings);
  });

describe("whose request it is", () => {
  it("counts for a limit: the socket's, or what the trusted proxy saw, and not what is forged", async () => {
    const run = async (hops: string, asked: readonly Asked[]) => {
      const settings = { TRUSTED_PROXY_HOPS: hops, LIMIT_FEED_PER_MINUTE: "3" };
      const test = await startTestApp(anyKind, settings);
      try {
        const statuses = [];
        for (const one of asked) statuses.push((await test.call("GET", "/v1/agent/nobody", one)).status);
        return statuses;
      } finally {
        await test.close();
      }
    };
    const forged = times(4, (i) => forwarded(`1.2.3.${i}, 5.5.5.5`));
    for (const [hops, other] of [
      ["0", { ip: "10.0.0.2" }],
      ["1", forwarded("5.5.5.5, 6.6.6.6")],
    ] as const)
      expect(await run(hops, [...forged, other])).toEqual([404, 404, 404, 429, 404]);
  });

  it("is the socket's without a trusted proxy, whatever is forged", () => {
    const forged = times(4, (i) => ({
      ip: "10.0.0.1",
      headers: {
        "x-forwarded-for": `1.2.3.${i}`,
        "x-countersign-peer": `x 1.2.3.${i}`,
        forwarded: `for=1.2.3.${i}`,
      },
    }));
    expect(clientsOf(forged, 0)).toEqual(times(4, () => "10.0.0.1"));
  });

  it("is what the one trusted proxy saw, not what is left of it", () => {
    const forged = times(4, (i) => forwarded(`9.9.9.${i}, 8.8.8.${i}, 5.5.5.5`));
    expect(clientsOf([...forged, forwarded("5.5.5.5, 6.6.6.6")], 1)).toEqual([
      ...times(4, () => "5.5.5.5"),
      "6.6.6.6",
    ]);
  });

  it("is the second from the right behind two proxies, and the socket's where that is missing", () => {
    const forged = times(4, (i) => forwarded(`9.9.9.${i}, 5.5.5.5, 7.7.7.${i}`));
    const short = times(4, (i) => ({ ip: "10.0.0.3", ...forwarded(`9.9.9.${i}`) }));
    expect(clientsOf([...forged, ...short], 2)).toEqual([
      ...times(4, () => "5.5.5.5"),
      ...times(4, () => "10.0.0.3"),
    ]);
  });

  it("is the socket's where that is none of the named proxies, whatever it forwards", () => {
    const past = times(4, (i) => ({ ip: "10.1.0.9", ...forwarded(`5.5.5.${i}`) }));
    const through = times(4, (i) => ({ ip: "10.0.0.5", ...forwarded(`6.6.6.${i}`) }));
    const mapped = times(2, (i) => ({ ip: "::ffff:10.0.0.5", ...forwarded(`7.7.7.${i}`) }));
    const inNetwork = times(4, (i) => ({ ip: `fd00::${i}:5`, ...forwarded("8.8.8.8") }));
    expect(clientsOf([...past, ...through, ...mapped, ...inNetwork], 1, "10.0.0.5, fd00::/8")).toEqual([
      ...times(4, () => "10.1.0.9"),
      ...times(4, (i) => `6.6.6.${i}`),
      ...times(2, (i) => `7.7.7.${i}`),
      ...times(4, () => "8.8.8.8"),
    ]);
  });

  it("is a network of IPv6, but on this machine its own address", () => {
    const asked = ["2001:db8::1", "::1", "127.0.0.1"].map((ip) => ({ ip }));
    expect(clientsOf(asked, 0)).toEqual(["2001:db8::/64", "::1", "127.0.0.1"]);
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

  it("is an IPv6 /64, an IPv4 also when mapped, and nonsense is one client", () => {
    const network = times(4, (i) => ({ ip: `2001:db8:1:2:${i}::${i}` }));
    const mapped = [{ ip: "::ffff:10.0.0.4" }, { ip: "10.0.0.4" }];
    const zones = times(4, (i) => ({ ip: `fe80::${i}%eth0` }));
    expect(clientsOf([...network, { ip: "2001:db8:1:3::1" }, ...mapped, ...zones], 0)).toEqual([
      ...times(4, () => "2001:db8:1:2::/64"),
      "2001:db8:1:3::/64",
      ...times(2, () => "10.0.0.4"),
      ...times(4, () => "fe80::/64"),
    ]);
    const nonsense = times(4, (i) => forwarded(`nonsense${i}`));
    expect(clientsOf(nonsense, 1)).toEqual(times(4, () => "unknown"));
  });
});
