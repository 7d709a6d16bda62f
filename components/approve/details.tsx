/** The details of a request, in the order in which a person decides about them, each with the look that fits it. */
import { labelNames, rankName } from "#lib/protocol/approval/detail-names";
import { chooseLines, deriveTitle, listRun } from "#lib/protocol/record/title";

export interface Detail {
  id: string;
  /** As hashed. */
  name: string;
  label: string;
  value: string;
  look: "large" | "text" | "code" | "run";
  /** Beginning of a long value that is whole further below. */
  excerpt?: string;
}

/** A sentence or two; what is longer would fill a phone's screen in large type. */
export const largeLength = 160;
const largeLines = 6;

/** Digests, ids, keys and encoded data: read character by character, if at all. */
const isCode = (value: string) => /^[!-~]{24,}$/.test(value) && /\d/.test(value);

/** Amounts, then recipients, then the rest, each in the agent's order. */
export function listDetails(context: Readonly<Record<string, string>>): Detail[] {
  const label = labelNames(Object.keys(context));
  return Object.entries(context)
    .map(([name, value]) => {
      const isLarge = rankName(name) < 2 && value.length <= largeLength;
      const look = isLarge ? ("large" as const) : isCode(value) ? ("code" as const) : ("text" as const);
      return { id: `context ${name}`, name, label: label(name), value, look };
    })
    .sort((one, other) => rankName(one.name) - rankName(other.name));
}

interface Described {
  readonly action: string;
  readonly tool?: string | null | undefined;
  readonly context?: Readonly<Record<string, string>> | null | undefined;
}

const toTitled = ({ action, tool = null, context = null }: Described) => ({ action, tool, context });

export const writeTitle = (described: Described): string => deriveTitle(toTitled(described));

/** A screen's worth of a command or a change; the rest would push the decision off a phone. */
const isShort = (value: string) => value.length <= largeLength && value.split("\n").length <= largeLines;

/** Its most telling lines; a long one is cut at a word. */
function cut(value: string): string {
  const lines = value.split("\n").filter((line) => line.trim() !== "");
  const whole = chooseLines(lines, (some) => isShort(some.join("\n")))
    .join("\n")
    .trim();
  const start = [...whole].slice(0, largeLength).join("");
  const end = start === whole ? whole.length : start.search(/\s\S*$/);
  return `${end > largeLength / 2 ? start.slice(0, end) : start} …`;
}

/**
 * Calls of hooks begin with what they run; then amounts and recipients, with the action; below it the rest, and the whole of what
 * is cut above it.
 */
export function splitDetails(described: Described) {
  const details = listDetails(described.context ?? {});
  const run = listRun(toTitled(described)).flatMap((id): Detail[] => {
    const detail = details.find(({ name }) => name === id);
    if (detail === undefined) return [];
    return [
      {
        ...detail,
        look: "run",
        ...(!isShort(detail.value) && { excerpt: cut(detail.value) }),
      },
    ];
  });
  const isRun = ({ name }: Detail) => run.some((one) => one.name === name);
  const isWhole = ({ name }: Detail) => run.some((one) => one.name === name && one.excerpt === undefined);
  const lead = details.filter((detail) => detail.look === "large" && !isRun(detail));
  const rest = details
    .filter((detail) => !lead.includes(detail) && !isWhole(detail))
    .map((detail): Detail => (isRun(detail) ? { ...detail, look: "code" } : detail));
  return { run, lead, rest };
}
