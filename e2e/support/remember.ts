/** Speeds up tests that verify almost the same again and again: signatures and pairings of equal inputs are computed once. */

function spell(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
}

export function remember<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
): (...args: Args) => Result {
  const known = new Map<string, { result: Result }>();
  return (...args) => {
    const name = JSON.stringify(args, spell);
    const found = known.get(name) ?? { result: run(...args) };
    known.set(name, found);
    return found.result;
  };
}

/** A module for `vi.mock`, with some of its functions remembered. They depend on their arguments alone. */
export async function rememberIn<Module extends object>(
  load: () => Promise<Module>,
  ...names: (keyof Module)[]
): Promise<Module> {
  const real = await load();
  const remembered = names.map((name) => [name, remember(real[name] as (...args: unknown[]) => unknown)]);
  return { ...real, ...Object.fromEntries(remembered) };
}
