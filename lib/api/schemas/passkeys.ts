/** Enrolling passkeys: what the browser sends, and what it gets. */
import { z } from "zod";
import { textOf } from "./primitives";

export const passkeyName = textOf(1, 64);

const bytes = (max: number) => z.string().max(max);

/** `RegistrationResponseJSON`; what is inside is verified, not read. */
export const registrationResponse = z.object({
  id: bytes(1_400),
  rawId: bytes(1_400),
  type: z.literal("public-key"),
  clientExtensionResults: z.object({}).catch({}),
  response: z.object({
    clientDataJSON: bytes(8_192),
    attestationObject: bytes(65_536),
    transports: z.array(z.string().max(32)).max(16).default([]),
  }),
});

export type PasskeyAnswer<Value = null> = { ok: true; value: Value } | { ok: false; message: string };

export interface ShownPasskey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
}
