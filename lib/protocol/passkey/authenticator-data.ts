/** Authenticator data of an assertion (WebAuthn level 3, section 6.1): `rpIdHash(32) || flags(1) || signCount(4)`. */
import { type Fault, fault } from "#lib/protocol/statement/outcome";

export interface AuthenticatorData {
  ok: true;
  rpIdHash: Uint8Array;
  userPresent: boolean;
  userVerified: boolean;
  /** The passkey may be copied to other devices of its user. */
  backupEligible: boolean;
  backedUp: boolean;
  signCount: number;
}

const HEAD_BYTES = 37;
const flags = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  credential: 0x40,
  extensions: 0x80,
} as const;

/** Extension data is signed but not read: no extension is requested. */
export function parseAuthenticatorData(bytes: Uint8Array): AuthenticatorData | Fault {
  const bits = bytes[32] ?? 0;
  const has = (flag: number) => (bits & flag) !== 0;
  const isLong = bytes.length > HEAD_BYTES;
  // An assertion has no credential data, and nothing follows unless the flag of extensions says so.
  if (bytes.length < HEAD_BYTES || has(flags.credential) || isLong !== has(flags.extensions))
    return fault("passkey_malformed", { part: "authenticatorData" });
  return {
    ok: true,
    rpIdHash: bytes.slice(0, 32),
    userPresent: has(flags.userPresent),
    userVerified: has(flags.userVerified),
    backupEligible: has(flags.backupEligible),
    backedUp: has(flags.backedUp),
    signCount: new DataView(bytes.buffer, bytes.byteOffset + 33, 4).getUint32(0),
  };
}
