/** What tests in TypeScript use of debian.mjs. */

/** False when this is not root on a Debian, or when apt-get fails. */
export function installPackage(name: string): boolean;
