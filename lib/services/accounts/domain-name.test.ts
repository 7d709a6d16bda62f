/** Guarantee: only what somebody can register or run is taken for a domain, in one spelling. */
import { describe, expect, it } from "vitest";
import { parseDomainName, toUnicode } from "./domains";

describe("a domain", () => {
  it.each([
    ["example.com", "example.com"],
    [" Example.COM. ", "example.com"],
    ["pay.example.co.uk", "pay.example.co.uk"],
    ["somebody.github.io", "somebody.github.io"],
    ["bücher.example.de", "xn--bcher-kva.example.de"],
    ["ｅｘａｍｐｌｅ.com", "example.com"],
    ["xn--pple-43d.com", "xn--pple-43d.com"],
  ])("%s is %s", (text, domain) => expect(parseDomainName(text)).toBe(domain));

  it.each([
    ["", "nothing"],
    ["com", "a public suffix"],
    ["co.uk", "a public suffix of two labels"],
    ["github.io", "a suffix under which strangers have names"],
    ["localhost", "this machine"],
    ["printer.local", "a name of no registry"],
    ["example.invalid", "a name that is never registered"],
    ["metadata.google.internal", "a name inside a cloud"],
    ["127.0.0.1", "an address"],
    ["0x7f.1", "an address in another spelling"],
    ["2130706433", "an address as a number"],
    ["[::1]", "an IPv6 address"],
    ["example.com:443", "a port"],
    ["https://example.com", "a scheme"],
    ["example.com/a", "a path"],
    ["example.com?a", "a query"],
    ["example.com#a", "a fragment"],
    ["a@example.com", "a mail address"],
    ["exa mple.com", "a space"],
    ["example\u0000.com", "a control character"],
    ["exa\u00admple.com", "a hidden character"],
    ["*.example.com", "a wildcard"],
    ["_dmarc.example.com", "a name of no host"],
    ["-a.example.com", "a hyphen at the edge"],
    ["a..example.com", "an empty label"],
    ["xn--a.com", "broken Punycode"],
    ["%65xample.com", "an escape"],
    [`${"a".repeat(64)}.com`, "a label that is too long"],
    [`${"a.".repeat(120)}com`, "a name that leaves no room for the record's"],
  ])("is not %j: %s", (text) => expect(parseDomainName(text)).toBeNull());

  it("is shown as people write it", () => {
    expect(toUnicode("xn--bcher-kva.example.de")).toBe("bücher.example.de");
    expect(toUnicode("example.com")).toBe("example.com");
  });
});
