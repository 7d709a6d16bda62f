/** A receipt in the two parts that the workbench shows, and ways to break it. */

export interface ReceiptParts {
  /** The exact signed bytes. */
  readonly statement: string;
  /** The unchanged surroundings: signatures, proof of inclusion, the human's approval. */
  readonly rest: string;
}

interface ReceiptFile {
  readonly payload: string;
  readonly signature: string;
  readonly log: { readonly index: number };
}

export function splitReceipt(text: string): ReceiptParts {
  const { payload, ...rest } = JSON.parse(text) as ReceiptFile;
  return { statement: payload, rest: JSON.stringify(rest, null, 2) };
}

/** Throws if what is around the statement is no JSON object any more. */
export function joinReceipt({ statement, rest }: ReceiptParts): string {
  const parsed: unknown = JSON.parse(rest);
  return JSON.stringify({ ...(parsed as object), payload: statement });
}

/** The base64 text of the same bytes but for one bit. */
function flipBit(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return btoa(String.fromCharCode(...bytes));
}

function changeRest(
  parts: ReceiptParts,
  change: (rest: Omit<ReceiptFile, "payload">) => object,
): ReceiptParts {
  const rest = JSON.parse(parts.rest) as Omit<ReceiptFile, "payload">;
  return { ...parts, rest: JSON.stringify({ ...rest, ...change(rest) }, null, 2) };
}

/** Changes that each start from the whole receipt, not from what another has left of it. */
export const breakages: readonly {
  readonly label: string;
  readonly apply: (whole: ReceiptParts) => ReceiptParts;
}[] = [
  {
    label: "Change the amount",
    apply: (whole) => ({ ...whole, statement: whole.statement.replace("12,000", "92,000") }),
  },
  {
    label: "Flip one bit of the signature",
    apply: (whole) => changeRest(whole, ({ signature }) => ({ signature: flipBit(signature) })),
  },
  {
    label: "Remove the human's approval",
    apply: (whole) => changeRest(whole, () => ({ human_authorization: null })),
  },
  {
    label: "Move it in the log",
    apply: (whole) => changeRest(whole, ({ log }) => ({ log: { ...log, index: log.index - 1 } })),
  },
];
