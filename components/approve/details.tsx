/** The details of a request, in the order in which a person decides about them, each with the look that fits it. */
import { labelNames, rankName } from "#lib/protocol/approval/detail-names";

export interface Detail {
  id: string;
  /** As hashed. */
  name: string;
  label: string;
  value: string;
  look: "large" | "text" | "code";
}

/** A sentence or two; what is longer would fill a phone's screen in large type. */
export const largeLength = 160;

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

/** Amounts and recipients stand with the action, the rest below it. */
export function splitDetails(context: Readonly<Record<string, string>>) {
  const details = listDetails(context);
  const lead = details.filter(({ look }) => look === "large");
  return { lead, rest: details.filter((detail) => !lead.includes(detail)) };
}
