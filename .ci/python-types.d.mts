export const pythonFiles: { types: string; reasons: string };
export function writePythonTypes(document: unknown): string;
export function writePythonReasons(reasons: Record<string, string>): string;
