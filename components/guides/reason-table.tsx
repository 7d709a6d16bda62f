/** The reasons of checks as a Markdown table, from the list that the checks use. */
import { reasonCodes, reasons } from "#lib/protocol/statement/reasons";

/** Placeholders for values of the case at hand. */
const values = /\{\w+\}/g;

export function listReasons(): string {
  const rows = reasonCodes.map((code) => `| \`${code}\` | ${reasons[code].replace(values, "…")} |`);
  return ["| Reason | Meaning |", "| --- | --- |", ...rows].join("\n");
}
