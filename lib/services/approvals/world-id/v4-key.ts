/** `WORLD_ID_V4_VERIFYING_KEY`: World's v4 key as snarkjs writes it, as JSON or the path of a file with it. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseVerificationKey, type VerificationKeyJson } from "#lib/protocol/world-id/groth16";

const V4_PUBLIC_INPUTS = 15;

const point = z
  .array(z.string().regex(/^[0-9]{1,78}$/))
  .min(2)
  .max(3);
const twistPoint = z
  .array(z.array(z.string().regex(/^[0-9]{1,78}$/)).length(2))
  .min(2)
  .max(3);
const keyJson = z.object({
  vk_alpha_1: point,
  vk_beta_2: twistPoint,
  vk_gamma_2: twistPoint,
  vk_delta_2: twistPoint,
  IC: z.array(point).length(V4_PUBLIC_INPUTS + 1),
});

/** Throws an Error that names the setting: a wrong key would make every true proof look false. */
export function readV4VerifyingKey(setting: string): VerificationKeyJson {
  try {
    const text = setting.trimStart().startsWith("{") ? setting : readFileSync(setting, "utf8");
    const json = keyJson.parse(JSON.parse(text));
    parseVerificationKey(json);
    return json;
  } catch (cause) {
    throw new Error(
      "WORLD_ID_V4_VERIFYING_KEY: must be World's v4 verification key in snarkjs's JSON, or a file with it",
      {
        cause,
      },
    );
  }
}
