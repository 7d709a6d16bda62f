export const verifierHashFile: string;
export function encodeVerifierHash(sha256Hex: string): string;
export function hashVerifier(folder?: string): Promise<{ sha256Hex: string; inputs: string[] }>;
