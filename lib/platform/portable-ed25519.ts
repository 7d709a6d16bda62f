/** The other half of `#platform/ed25519` is node-ed25519.ts. */

/** A browser's own Ed25519 doesn't answer at once, and some have none. */
export const holdsWithoutCofactor = (
  _signature: Uint8Array,
  _message: Uint8Array,
  _publicKey: Uint8Array,
): boolean | undefined => undefined;
