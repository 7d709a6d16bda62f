/** Types of `@digitalbazaar/bbs-signatures` 3.0.0, which ships none: the part that is used here. */
declare module "@digitalbazaar/bbs-signatures" {
  type Bytes = Uint8Array;
  /** `seed`: key material of at least 32 bytes for the draft's KeyGen; random without it. */
  export function generateKeyPair(options: {
    seed?: Bytes;
    ciphersuite: string;
  }): Promise<{ secretKey: Bytes; publicKey: Bytes }>;
  export function sign(options: {
    secretKey: Bytes;
    publicKey: Bytes;
    header: Bytes;
    messages: Bytes[];
    ciphersuite: string;
  }): Promise<Bytes>;
  /** Throws on malformed input. */
  export function verifySignature(options: {
    publicKey: Bytes;
    signature: Bytes;
    header: Bytes;
    messages: Bytes[];
    ciphersuite: string;
  }): Promise<boolean>;
  /** Makes an invalid proof, silently, unless the indexes ascend strictly. */
  export function deriveProof(options: {
    publicKey: Bytes;
    signature: Bytes;
    header: Bytes;
    messages: Bytes[];
    presentationHeader: Bytes;
    disclosedMessageIndexes: number[];
    ciphersuite: string;
  }): Promise<Bytes>;
  /** Throws on malformed input, and works for as long as the proof is long. */
  export function verifyProof(options: {
    publicKey: Bytes;
    proof: Bytes;
    header: Bytes;
    presentationHeader: Bytes;
    disclosedMessages: Bytes[];
    disclosedMessageIndexes: number[];
    ciphersuite: string;
  }): Promise<boolean>;
}
