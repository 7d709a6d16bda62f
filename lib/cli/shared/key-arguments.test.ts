import { describe, expect, it } from "vitest";
import { UsageError } from "#lib/protocol/text/command-words";
import { parseKeyArguments } from "./command-line";

const parse = (line: string) => parseKeyArguments(line.split(" ").filter((word) => word !== ""));

describe("npm run keys", () => {
  it.each(["-abc", "--abc", "-5", "--", "--from-indexes", "-", "_x"].map((start) => start.padEnd(43, "k")))(
    "revokes %s",
    (keyId) => {
      const whole = { name: "revoke", purpose: "attestation", keyId, file: "-f", fromIndex: 12 };
      expect(parse(`revoke attestation ${keyId} --from-index 12 --new-key-file -f`)).toEqual(whole);
      expect(parse(`--new-key-file=-f revoke --from-index=12 attestation ${keyId}`)).toEqual(whole);
      expect(parse(`revoke zk -- ${keyId}`)).toMatchObject({ keyId, fromIndex: undefined });
    },
  );

  it("rotates and lists", () => {
    expect(parse("list")).toEqual({ name: "list" });
    expect(parse("wrap")).toEqual({ name: "wrap" });
    expect(parse("rotate zk")).toEqual({ name: "rotate", purpose: "zk", file: undefined, isLost: false });
    expect(parse("rotate attestation --lost")).toMatchObject({ isLost: true });
  });

  it.each([
    ["", /list, rotate, revoke or wrap/],
    ["destroy zk x", /list, rotate, revoke or wrap/],
    ["list zk", /unexpected zk/],
    ["list --lost", /list takes no --lost/],
    ["wrap zk", /unexpected zk/],
    ["rotate", /attestation\|zk is missing/],
    ["rotate log", /new-epoch --new-log-key/],
    ["rotate zk --lots", /unknown option --lots/],
    ["rotate zk --from-index 5", /rotate takes no --from-index/],
    ["revoke zk", /KEY_ID is missing/],
    ["revoke zk k --lost", /revoke takes no --lost/],
    ["revoke zk k --form-index 5", /unknown option --form-index/],
    ["revoke attestation k --from-index -5", /must be a number/],
    ["revoke attestation k --from-index", /needs a value/],
    ["revoke attestation k --from-index 1 --from-index 2", /given twice/],
    ["revoke zk k l", /unexpected l/],
    ["revoke zk k --from-index 1", /revoked as a whole/],
    ["revoke zk k --log 1", /revoked as a whole/],
    ["revoke attestation k --log 1", /--log needs --from-index/],
    ["rotate attestation --log 1", /rotate takes no --log/],
  ])("refuses: %s", (line, message) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(message);
  });
});
