/** Whatever signs with Ed25519. Synchronous: keys wrapped by a KMS are unwrapped at start. */
export interface Signer {
  /** First 16 hex digits of SHA-256 over the raw public key. */
  readonly keyId: string;
  /** 32 bytes */
  readonly publicKey: Uint8Array;
  /** 64 bytes (RFC 8032, pure Ed25519). */
  sign(message: Uint8Array): Uint8Array;
}
