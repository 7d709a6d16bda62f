/**
 * Imports a module that needs a provider's SDK, which `npm start` doesn't install. Throws what to do if it is missing.
 * `setting`: what asks for it.
 */
export async function loadProvider<Module>(setting: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw cause;
    throw new Error(`${setting} needs a package that is not installed: run npm run providers`, { cause });
  }
}
