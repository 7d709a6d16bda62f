/**
 * The words of a command line. An option is a word that the command knows, before, between or after its arguments;
 * every other word is an argument, whatever it begins with: an id in base64url begins with "-" once in 64 times.
 * After `--` every word is an argument. What the command has no place for is a usage error, never ignored.
 */

export class UsageError extends Error {}

export interface CommandLine<Valued extends string, Flag extends string> {
  words: string[];
  values: Partial<Record<Valued, string[]>>;
  flags: ReadonlySet<Flag>;
}

/**
 * `valued`: options that take the next word, or the text after `=`. Names are without the dashes. `isStrict`: no argument
 * begins with `--`, so that an option with a typo is never taken for free text.
 */
export function readCommandLine<Valued extends string = never, Flag extends string = never>(
  argv: readonly string[],
  options: {
    valued?: readonly Valued[];
    optional?: readonly Valued[];
    flags?: readonly Flag[];
    isStrict?: boolean;
  },
): CommandLine<Valued, Flag> {
  const findValued = (name: string) => options.valued?.find((one) => one === name);
  const findFlag = (name: string) => options.flags?.find((one) => one === name);
  const words: string[] = [];
  const values: Partial<Record<Valued, string[]>> = {};
  const flags = new Set<Flag>();
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] ?? "";
    if (word === "--") {
      words.push(...argv.slice(i + 1));
      break;
    }
    const [, name = "", attached] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const flag = findFlag(name);
    const valued = findValued(name);
    if (flag !== undefined) {
      if (attached !== undefined) throw new UsageError(`--${name} takes no value`);
      flags.add(flag);
    } else if (valued !== undefined) {
      const isLeftOut = options.optional?.includes(valued) && (argv[i + 1] ?? "--").startsWith("--");
      const value = attached ?? (isLeftOut ? "*" : argv[++i]);
      if (value === undefined) throw new UsageError(`--${name} needs a value`);
      values[valued] = [...(values[valued] ?? []), value];
    } else if (options.isStrict === true && word.startsWith("--")) throw unexpectedWords([word], 0);
    else words.push(word);
  }
  return { words, values, flags };
}

export function single<Valued extends string>(
  { values }: Pick<CommandLine<Valued, never>, "values">,
  name: Valued,
): string | undefined {
  const [value, more] = values[name] ?? [];
  if (more !== undefined) throw new UsageError(`--${name} is given twice`);
  return value;
}

/** Error for more words than there are places for: one of them may be an option with a typo. */
export function unexpectedWords(words: readonly string[], expected: number): UsageError {
  const option = words.find((word) => word.startsWith("--"));
  if (option !== undefined) return new UsageError(`unknown option ${option}`);
  return new UsageError(`unexpected ${words.slice(expected).join(" ")}`);
}
