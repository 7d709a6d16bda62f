/** Types of debian.mjs for tests in TypeScript. */

/** False when this is not root on a Debian, or when apt-get fails. */
export function installPackage(name: string): boolean;
