import { describe, expect, it } from "vitest";
import { SCALAR_FIELD_ORDER } from "#lib/protocol/world-id/groth16";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { idkitResultSchema, pickProof } from "./approval-view";

const v3 = {
  protocol_version: "3.0",
  nonce: "0xAB",
  action: "authz-x",
  environment: "staging",
  responses: [
    {
      identifier: "device",
      signal_hash: "0x1",
      proof: `0x${"AB".repeat(256)}`,
      merkle_root: "0x2",
      nullifier: "0x3",
    },
  ],
};
const v4 = {
  protocol_version: "4.0",
  nonce: "0x1",
  action: "authz-x",
  environment: "staging",
  responses: [
    {
      identifier: "proof_of_human",
      issuer_schema_id: 1,
      signal_hash: "0x1",
      proof: ["19040", "6968", "77965", "33531", "49598"],
      nullifier: "0x2",
      expires_at_min: 1783942504,
    },
  ],
};
const rp = { app_id: "app_x", rp_id: "rp_1" };

describe("idkitResultSchema", () => {
  it("brings v3 and v4 into the canonical spelling", () => {
    const three = idkitResultSchema.parse(v3);
    expect(three.nonce).toBe(wordHex(0xabn));
    expect(three.responses[0]?.nullifier).toBe(wordHex(3n));
    expect(three.responses[0]?.proof).toBe(`0x${"ab".repeat(256)}`);
    const four = idkitResultSchema.parse(v4);
    expect(four.responses[0]?.proof).toEqual([19040n, 6968n, 77965n, 33531n, 49598n].map(wordHex));
  });

  it("refuses nullifiers over the field's order, unknown fields, wrong lengths and mixed versions", () => {
    const change = (result: typeof v3 | typeof v4, field: string, value: unknown) => ({
      ...result,
      responses: [{ ...result.responses[0], [field]: value }],
    });
    for (const bad of [
      change(v3, "nullifier", wordHex(SCALAR_FIELD_ORDER + 3n)),
      change(v4, "nullifier", wordHex(SCALAR_FIELD_ORDER)),
      change(v3, "proof", "0x00"),
      change(v4, "proof", ["1", "2", "3", "4"]),
      change(v4, "proof", ["1", "2", "3", "4", "x"]),
      change(v4, "surprise", 1),
      change(v4, "session_nullifier", ["0x1", "0x2"]),
      { ...v4, session_id: "session_00" },
      { ...v3, surprise: 1 },
      { ...v3, protocol_version: "4.0" },
      { ...v3, protocol_version: "5.0" },
      { ...v3, responses: [] },
    ]) {
      expect(idkitResultSchema.safeParse(bad).success).toBe(false);
    }
  });
});

describe("pickProof", () => {
  it("takes a credential that is enough and no other", () => {
    const device = idkitResultSchema.parse(v3);
    expect(pickProof(device, "device", rp)).toMatchObject({
      level: "device",
      ...rp,
      nullifier_hash: wordHex(3n),
    });
    expect(pickProof(device, "orb", rp)).toBeUndefined();
    const both = idkitResultSchema.parse({
      ...v3,
      responses: [...v3.responses, { ...v3.responses[0], identifier: "orb" }],
    });
    expect(pickProof(both, "orb", rp)).toMatchObject({ level: "orb" });
    const human = idkitResultSchema.parse(v4);
    expect(pickProof(human, "orb", rp)).toMatchObject({
      level: "proof_of_human",
      merkle_root: wordHex(49598n),
    });
    for (const change of [{ issuer_schema_id: 11 }, { identifier: "selfie" }]) {
      const other = idkitResultSchema.parse({ ...v4, responses: [{ ...v4.responses[0], ...change }] });
      expect(pickProof(other, "device", rp)).toBeUndefined();
    }
  });
});
