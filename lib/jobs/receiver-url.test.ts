/** Guarantee: nothing is sent to an address of this machine or its networks, however it is written. */
import { describe, expect, it } from "vitest";
import { findUrlProblem, isReachable, listTranslated, mayReachLoopback } from "./guarded-request";

const inside = [
  ...["0.0.0.0", "10.0.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1", "192.168.1.1"],
  ...["100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255"],
  ...["198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::a00:1"],
  ...["64:ff9b::a9fe:a9fe", "64:ff9b::6440:1", "64:ff9b::", "64:ff9b:0:0:1::808:808", "64:ff9b:1::808:808"],
  ...["64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "4000::1", "5f00::1"],
  ...["fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1"],
];

const forms = [
  ...["2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1", "127.1", "127.0.1", "127.0.0.1."],
  ...["3232235777", "0300.0250.1.1", "0xa9fea9fe", "①②⑦.0.0.1", "127。0。0。1", "%31%32%37.0.0.1"],
  ...["[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[0:0:0:0:0:0:0:1]", "[64:ff9b::10.0.0.1]"],
  ...["localhost", "localhost.", "LOCALHOST", "any.localhost"],
];

describe("addresses that nobody outside may have us call", () => {
  it.each(inside)("%s", (address) => {
    expect(isReachable(address, false)).toBe(false);
    const host = address.includes(":") ? `[${address}]` : address;
    expect(findUrlProblem(`https://${host}/`, false)).toBe("must lead to a public address");
  });

  it.each(forms)("https://%s/", (host) => {
    expect(findUrlProblem(`https://${host}/`, false)).toBe("must lead to a public address");
  });

  it.each(["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808"])(
    "%s is public",
    (address) => {
      expect(isReachable(address, false)).toBe(true);
      expect(isReachable(address, true)).toBe(true);
    },
  );

  it("are no others while a stand-in runs, but this machine", () => {
    const open = inside.filter((address) => isReachable(address, true));
    expect(open).toEqual(["127.0.0.1", "127.9.9.9", "::1"]);
  });
});

/** The examples of RFC 6052, 2.4, with 192.0.0.170 and 10.0.0.1 in place of 192.0.2.33. */
describe("a network's own NAT64 prefix", () => {
  it.each([
    ["2001:db8:c000:aa::", "2001:db8:a00:1::"],
    ["2001:db8:1c0:0:aa::", "2001:db8:10a:0:1::"],
    ["2001:db8:122:c000:0:aa00::", "2001:db8:122:a00:0:100::"],
    ["2001:db8:122:3c0:0:aa::", "2001:db8:122:30a:0:1::"],
    ["2001:db8:122:344:c0:0:aa00:0", "2001:db8:122:344:a:0:100:0"],
    ["2001:db8:122:344::c000:aa", "2001:db8:122:344::a00:1"],
  ])("of which %s is ipv4only.arpa leads from %s to 10.0.0.1", (probe, address) => {
    expect(listTranslated(address, ["192.0.0.170", probe])).toContain("10.0.0.1");
    expect(listTranslated(address, ["192.0.0.170", "2a00::1"])).toEqual([]);
    expect(listTranslated("2600::a00:1", [probe])).toEqual([]);
  });
});

it("this machine is within reach only while the World ID stand-in runs", () => {
  expect([mayReachLoopback({ worldId: "local" }), mayReachLoopback({ worldId: "portal" })]).toEqual([
    true,
    false,
  ]);
});

it("lets the operator's named hosts be private, over https", () => {
  const hosts = ["hooks.internal", "10.0.0.7", "fd00::7"];
  const judge = (url: string) => findUrlProblem(url, false, hosts);
  for (const url of [
    "https://hooks.internal/x",
    "https://HOOKS.internal.:8443/",
    "https://10.0.0.7/",
    "https://[fd00::7]/",
  ])
    expect([url, judge(url)]).toEqual([url, null]);
  expect(judge("http://hooks.internal/")).toBe("must be an https URL");
  expect(judge("https://me@hooks.internal/")).toContain("user name");
  for (const url of ["https://10.0.0.8/", "https://[fd00::8]/"]) expect(judge(url)).toContain("public");
});

describe("what a URL must be", () => {
  it.each([
    ["https://example.com/hook", false, null],
    ["https://example.com:8443/hook?a=b", false, null],
    ["http://example.com/hook", false, "must be an https URL"],
    ["http://example.com/hook", true, "must be an https URL"],
    ["http://8.8.8.8/", true, "must be an https URL"],
    ["http://10.0.0.1/", true, "must be an https URL"],
    ["http://127.0.0.1:9/", true, null],
    ["http://localhost:9/", true, null],
    ["http://[::1]:9/", true, null],
    ["http://127.0.0.1:9/", false, "must be an https URL"],
    ["https://me:secret@example.com/", false, "must not contain a user name or password"],
    ["https://me@example.com/", false, "must not contain a user name or password"],
  ])("%s (a stand-in runs: %s): %s", (url, mayBeLoopback, problem) => {
    expect(findUrlProblem(url, mayBeLoopback)).toBe(problem);
  });
});
