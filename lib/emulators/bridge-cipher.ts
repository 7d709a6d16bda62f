/** AES-256-GCM as IDKit and the World App speak it through the bridge: ciphertext‖tag and a 12-byte IV, in base64. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { z } from "zod";
import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";

const TAG_BYTES = 16;

export const sealedSchema = z.strictObject({ iv: z.string().min(1).max(64), payload: z.string().min(1) });
export type Sealed = z.infer<typeof sealedSchema>;

export function seal(key: Uint8Array, value: unknown): Sealed {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const bytes = Buffer.concat([
    cipher.update(JSON.stringify(value), "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return { iv: base64Encode(iv), payload: base64Encode(bytes) };
}

/** Undefined if the key or any byte is wrong. */
export function open(key: Uint8Array, { iv, payload }: Sealed): unknown {
  try {
    const bytes = base64Decode(payload);
    const decipher = createDecipheriv("aes-256-gcm", key, base64Decode(iv));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString(
      "utf8",
    );
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
