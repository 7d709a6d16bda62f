/** `folder`: of the repository. */
export function makeWheel(folder: string): { name: string; bytes: Buffer };
export function packWheel(): void;
