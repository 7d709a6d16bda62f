/** The details of a request, in the order in which a person decides about them, each with the look that fits it. */

export interface Detail {
  id: string;
  name: string;
  value: string;
  look: "large" | "text" | "code";
}

/** Names under which agents put how much. A name that is missed here is still shown, only later and smaller. */
const amounts = /amount|total|price|sum\b|cost|value|fee|budget|limit|currency|quantity/;
const recipients =
  /recipient|payee|beneficiary|creditor|receiver|destination|iban|account|wallet|address|e-?mail|domain|host|\bto\b/;

/** A sentence or two; what is longer would fill a phone's screen in large type. */
export const largeLength = 160;

/** `recipientName`, `recipient_name` and `recipient-name` are read alike, hidden characters inside are not read. */
function readName(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/[\p{M}\p{C}\p{Default_Ignorable_Code_Point}]/gu, "");
  const words = plain.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[_.\-/]+/g, " ");
  return words.toLowerCase();
}

/** 0: how much, 1: to whom, 2: anything else. */
export function rankOf(name: string): number {
  const words = readName(name);
  if (amounts.test(words)) return 0;
  return recipients.test(words) ? 1 : 2;
}

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
