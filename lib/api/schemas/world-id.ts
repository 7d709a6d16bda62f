/**
 * IDKit's result (`IDKitResult`), v3 and v4, as the page passes it on. Every field is attacker-controlled: IDKit
 * verifies nothing. `action`, `nonce`, `signal_hash` and `environment` are read only to be compared with what is
 * stored. Numbers leave here in their one canonical spelling.
 */
import { z } from "zod";
import {
  type ApprovalLevel,
  isLevelSufficient,
  PROOF_OF_HUMAN_ISSUER,
  parseFieldElement,
  parseWord,
  type RequiredLevel,
  type WorldProof,
  wordHex,
} from "#lib/protocol/world-id/world-id-proof";

const canonical = (parse: (text: string) => bigint | undefined, message: string) =>
  z
    .string()
    .max(80)
    .transform((text, context) => {
      const value = parse(text);
      if (value !== undefined) return wordHex(value);
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    });

const word = canonical(parseWord, "must be a uint256 in hex or decimal");
const fieldElement = canonical(parseFieldElement, "must be a number below the field's order");

const common = {
  nonce: fieldElement,
  action: z.string().max(128),
  action_description: z.string().max(1024).optional(),
  environment: z.string().max(32),
  user_presence_completed: z.boolean().optional(),
  identity_attested: z.boolean().optional(),
  integrity_bundle: z.record(z.string(), z.unknown()).optional(),
};

const responseV3 = z.strictObject({
  identifier: z.string().max(64),
  signal_hash: fieldElement.optional(),
  proof: z
    .string()
    .regex(/^0x[0-9a-fA-F]{512}$/, "must be 0x and 512 hex digits")
    .transform((text) => text.toLowerCase()),
  merkle_root: fieldElement,
  nullifier: fieldElement,
});

const responseV4 = z.strictObject({
  identifier: z.string().max(64),
  issuer_schema_id: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  signal_hash: fieldElement.optional(),
  proof: z.array(word).length(5),
  nullifier: fieldElement,
  expires_at_min: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
});

export const idkitResultSchema = z.discriminatedUnion("protocol_version", [
  z.strictObject({
    protocol_version: z.literal("3.0"),
    ...common,
    responses: z.array(responseV3).min(1).max(8),
  }),
  z.strictObject({
    protocol_version: z.literal("4.0"),
    ...common,
    responses: z.array(responseV4).min(1).max(8),
  }),
]);

export type IdkitResult = z.infer<typeof idkitResultSchema>;

/**
 * The first response whose credential is enough, as a proof that names our app and RP; undefined if none is.
 * The nonce is the result's own: v4 proves it, and the caller must have found it among those of this request.
 */
export function pickProof(
  result: IdkitResult,
  requiredLevel: RequiredLevel,
  rp: { app_id: string; rp_id: string },
): WorldProof | undefined {
  const isEnough = (level: ApprovalLevel) => isLevelSufficient(level, requiredLevel);
  const ours = { app_id: rp.app_id, rp_id: rp.rp_id, nonce: result.nonce };
  if (result.protocol_version === "3.0") {
    for (const { identifier, nullifier, merkle_root, proof } of result.responses) {
      if ((identifier === "orb" || identifier === "device") && isEnough(identifier)) {
        const level = identifier;
        return { protocol_version: "3.0", ...ours, level, nullifier_hash: nullifier, merkle_root, proof };
      }
    }
    return undefined;
  }
  for (const response of result.responses) {
    const { identifier, issuer_schema_id, nullifier, expires_at_min, proof } = response;
    const merkle_root = proof[4];
    if (identifier !== "proof_of_human" || issuer_schema_id !== PROOF_OF_HUMAN_ISSUER) continue;
    if (merkle_root === undefined) continue;
    return {
      protocol_version: "4.0",
      ...ours,
      level: "proof_of_human",
      nullifier_hash: nullifier,
      merkle_root,
      proof,
      issuer_schema_id,
      expires_at_min,
    };
  }
  return undefined;
}

/*
 * Responses of World other than an approval, in a sentence for the person who wanted to give one. Closed: a test holds
 * the first table against IDKit's own list of codes, so that a new one is not met for the first time on a page.
 */
