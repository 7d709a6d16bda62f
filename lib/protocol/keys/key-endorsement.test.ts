import { describe, expect, it } from "vitest";
import { base64Encode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import { zkKeyId } from "#lib/protocol/presentation/disclosure";
import type { TrustedKey } from "#lib/protocol/statement/receipt";
import { KEY_EVENT_PREDICATE, STATEMENT_TYPE } from "#lib/protocol/statement/statement";
import { findEndorsementFault } from "./key-endorsement";

const zkKey = new Uint8Array(96).fill(3);
const statement = canonicalBytes({
  _type: STATEMENT_TYPE,
  predicateType: KEY_EVENT_PREDICATE,
  subject: [{ digest: { sha256: hexEncode(sha256(zkKey)) } }],
  predicate: {
    event: "made",
    purpose: "zk",
    key_id: zkKeyId(zkKey),
    public_key: base64Encode(zkKey),
    signed_by: "signer",
  },
});
const endorsement = {
  index: 18,
  payload: new TextDecoder().decode(statement),
  signature: base64Encode(new Uint8Array(64)),
  key_id: "signer",
};
const range = (logOrigin: string, validFromIndex: number, validToIndex: number | null): TrustedKey => ({
  keyId: "signer",
  publicKey: new Uint8Array(32),
  logOrigin,
  validFromIndex,
  validToIndex,
});

describe("the endorsement of a BBS key", () => {
  const signers = [range("log", 0, 13), range("log/2", 0, null)];
  const find = (logOrigin: string, isSigned = true) =>
    findEndorsementFault(zkKey, { ...endorsement, logOrigin }, signers, () => isSigned);

  it("counts in the log that its index is of", () => {
    expect(find("log/2")).toBeNull();
    expect(find("log")).toContain("not valid at this log index");
    expect(find("log/3")).toContain("unknown key");
  });

  it("must verify, and be of this key", () => {
    expect(find("log/2", false)).toContain("does not verify");
    const other = new Uint8Array(96).fill(4);
    expect(findEndorsementFault(other, endorsement, signers, () => true)).toContain("another key");
  });
});
