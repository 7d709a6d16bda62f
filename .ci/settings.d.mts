export const settingsFile: string;
export function encodeSettings(example: string): string;
export function readExample(): string;
