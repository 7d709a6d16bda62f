export function listPatches(): string[];
