import { describe, expect, it } from "vitest";
import { keyRequestBody } from "./keys";

const read = (email: string) => keyRequestBody.safeParse({ email }).data?.email ?? null;

describe("an email address", () => {
  it.each([
    ["Ana@Example.com", "ana@example.com"],
    ["ana.o'hara+tag@example.com", "ana.o'hara+tag@example.com"],
    ["a!#$%&'*+/=?^_`{|}~-@example.com", "a!#$%&'*+/=?^_`{|}~-@example.com"],
    [".ana..b.@example.com", ".ana..b.@example.com"],
    ["root@localhost", "root@localhost"],
    ["ana@xn--mller-kva.example", "ana@xn--mller-kva.example"],
    ["ana@example.xn--p1ai", "ana@example.xn--p1ai"],
    ["ana@M\u00FCller.example", "ana@xn--mller-kva.example"],
    ["ana@\u043F\u0440\u0438\u043C\u0435\u0440.\u0440\u0444", "ana@xn--e1afmkfd.xn--p1ai"],
  ])("%s is taken as HTML takes it", (typed, email) => {
    expect(read(typed)).toBe(email);
  });

  it.each([
    ...["", "@", "ana", "ana@", "@example.com", "ana@ example.com", "ana@example.com\r\nBcc: x@evil.test"],
    ...["ana@-example.com", "ana@example..com", "a,b@example.com", "<ana@example.com>", '"a b"@example.com'],
    ...[
      "ana@b@example.com",
      "ana@b@m\u00FCller.example",
      "\u00E4na@example.com",
      "ana@m\u00FCller.example/x",
    ],
    ...["ana@m\u00FCller.example:25", "ana@m\u00FC ller.example", `ana@${"a".repeat(64)}.com`],
    `${"a".repeat(250)}@example.com`,
  ])("%j is none", (typed) => {
    expect(read(typed)).toBeNull();
  });
});
