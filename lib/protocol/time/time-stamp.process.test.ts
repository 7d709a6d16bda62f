/** Stamps of an authority that openssl plays, and every way in which one can be wrong. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isIssuedUnder, parseCertificates, unsupportedAlgorithm } from "#lib/protocol/encoding/certificate";
import { type Authority, makeAuthority } from "#support/tsa";
import { encodeTimeStampRequest, toNonce, verifyTimeStamp } from "./time-stamp";

const data = utf8Encode("example.com/log\n7\nAAAA\n");
const random = new Uint8Array(8).fill(0xab);
const queryOver = (bytes: Uint8Array) => encodeTimeStampRequest(sha256(bytes), random);
const pinnedOf = (...authorities: Authority[]) => authorities.flatMap(({ root }) => parseCertificates(root));

describe("a time stamp", () => {
  const made: Authority[] = [];
  const make = (options?: Parameters<typeof makeAuthority>[0]) => {
    const authority = makeAuthority(options);
    made.push(authority);
    return authority;
  };
  let own: Authority;
  let stamp: Uint8Array;

  beforeAll(() => {
    own = make();
    stamp = own.reply(queryOver(data));
  });
  afterAll(() => {
    for (const authority of made) authority.remove();
  });

  it("is asked for in 69 bytes", () => {
    expect(queryOver(data)).toHaveLength(69);
    expect(toNonce(new Uint8Array(8))[0]).toBe(0x40);
    expect(toNonce(new Uint8Array(8).fill(0xff))[0]).toBe(0x7f);
  });

  it("tells its time, who signed it and the nonce, as openssl reads it", async () => {
    const verdict = await verifyTimeStamp(stamp, data, pinnedOf(own));
    expect(verdict).toMatchObject({
      ok: true,
      name: "TEST time-stamp authority",
      nonce: hexEncode(toNonce(random)),
    });
    expect(Math.abs((verdict.ok ? verdict.timeMs : 0) - Date.now())).toBeLessThan(60_000);
    expect(own.accepts(stamp, data)).toBe(true);
  });

  it("is not supported, and not wrong, if it is signed by RSASSA-PSS", async () => {
    const authority = make({ key: "rsa" });
    const hex = hexEncode(authority.reply(queryOver(data)));
    const at = hex.lastIndexOf("2a864886f70d010101");
    const pss = hexDecode(`${hex.slice(0, at)}2a864886f70d01010a${hex.slice(at + 18)}`);
    expect(await verifyTimeStamp(pss, data, pinnedOf(authority))).toEqual({
      ok: false,
      problem: "RSASSA-PSS is not supported: RSA (PKCS #1 v1.5) and ECDSA are",
      isUnknown: true,
    });
    expect(["2b6570", "2a8648ce3d040303", "2a03"].map(unsupportedAlgorithm)).toEqual([
      "Ed25519",
      null,
      "the algorithm 2a03",
    ]);
  });

  it.each([
    { key: "rsa", digest: "sha256" },
    { key: "rsa", digest: "sha512" },
    { key: "ec", digest: "sha384" },
    { key: "ec", hasIntermediate: true },
  ] as const)("verifies under %j", async (options) => {
    const authority = make(options);
    const other = authority.reply(queryOver(data));
    expect(authority.accepts(other, data)).toBe(true);
    expect(await verifyTimeStamp(other, data, pinnedOf(authority))).toMatchObject({ ok: true });
    expect(await verifyTimeStamp(other, data, pinnedOf(own))).toMatchObject({
      ok: false,
      problem: expect.stringContaining("pinned"),
    });
  });

  it("is refused over other data, under nothing pinned, and cut short", async () => {
    const refused = async (...given: Parameters<typeof verifyTimeStamp>) => {
      const verdict = await verifyTimeStamp(...given);
      return verdict.ok ? null : verdict.problem;
    };
    expect(await refused(stamp, utf8Encode("other"), pinnedOf(own))).toBe("it is over other data");
    expect(await refused(stamp, data, [])).toBe("its certificate does not lead to a pinned one");
    expect(await refused(stamp.slice(0, -1), data, pinnedOf(own))).toBe("it is malformed");
    expect(await refused(new Uint8Array(), data, pinnedOf(own))).toBe("it is malformed");
  });

  // openssl does not sign with such a certificate, so the certificate in an honest stamp is changed.
  it.each([
    ["another use", "2b06010505070308", "2b06010505070303"],
    ["a use that is not critical", "551d250101ff", "551d25010100"],
  ])("is refused if its certificate is for %s", async (_, before, after) => {
    const hex = hexEncode(stamp);
    expect(hex).toContain(before);
    const verdict = await verifyTimeStamp(hexDecode(hex.replace(before, after)), data, pinnedOf(own));
    expect(verdict).toEqual({ ok: false, problem: "its certificate is not for time stamps alone" });
  });

  it("counts only while each certificate up to a pinned one is valid, and under one that may issue", async () => {
    const [root] = pinnedOf(own);
    const [signer] = parseCertificates(own.certificate);
    if (root === undefined || signer === undefined) throw new Error("no certificates");
    const isIssued = (atMs: number, pinned = [root]) => isIssuedUnder(signer, [], pinned, atMs);
    expect(await isIssued(Date.now())).toBe(true);
    expect(await isIssued(Date.now(), [signer])).toBe(true);
    expect(await isIssued(signer.fromMs - 1)).toBe(false);
    expect(await isIssued(signer.toMs + 1)).toBe(false);
    expect(await isIssued(Date.now(), [{ ...root, isCa: false }])).toBe(false);
    expect(await isIssued(Date.now(), [{ ...root, raw: new Uint8Array(), toMs: 0 }])).toBe(false);
  });

  it("is refused with any byte changed, or with another's certificate", async () => {
    const pinned = pinnedOf(own);
    const honest = await verifyTimeStamp(stamp, data, pinned);
    for (let at = 0; at < stamp.length; at += 7) {
      const changed = Uint8Array.from(stamp);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      const verdict = await verifyTimeStamp(changed, data, pinned);
      // Unsigned parts may change (the status, the listed certificates), the stamp itself may not.
      if (verdict.ok) expect([at, verdict]).toEqual([at, honest]);
    }
  });
});
