/** The details of a request, in the order in which a person decides about them, each with the look that fits it. */
import { rankOf } from "#lib/protocol/approval/detail-names";

export interface Detail {
  id: string;
  name: string;
  value: string;
  look: "large" | "text" | "code";
}

/** A sentence or two; what is longer would fill a phone's screen in large type. */
export const largeLength = 160;

/** Digests, ids, keys and encoded data: read character by character, if at all. */
const isCode = (value: string) => /^[!-~]{24,}$/.test(value) && /\d/.test(value);

/** Amounts, then recipients, then the rest, each in the agent's order. */
export function listDetails(context: Readonly<Record<string, string>>): Detail[] {
  return Object.entries(context)
    .map(([name, value]) => {
      const isLarge = rankOf(name) < 2 && value.length <= largeLength;
      const look = isLarge ? ("large" as const) : isCode(value) ? ("code" as const) : ("text" as const);
      return { id: `context ${name}`, name, value, look };
    })
    .sort((one, other) => rankOf(one.name) - rankOf(other.name));
}
