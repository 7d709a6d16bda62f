/** Tables of guides in Markdown, from the lists that the code uses: reasons of checks, and requirements of assessments. */
import {
  listRequirementCells,
  requirementColumns,
  requirementSources,
  requirements,
} from "#lib/protocol/pack/requirements";
import { reasonCodes, reasons } from "#lib/protocol/statement/reasons";

/** Placeholders for values of the case at hand. */
const values = /\{\w+\}/g;

export function listReasons(): string {
  const rows = reasonCodes.map((code) => `| \`${code}\` | ${reasons[code].replace(values, "…")} |`);
  return ["| Reason | Meaning |", "| --- | --- |", ...rows].join("\n");
}

const toRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

/** A table for each source: its rows, with what isn't covered, below where it is from. */
export function listRequirements(): string {
  return Object.entries(requirementSources)
    .map(([source, { name, applies, url }]) => {
      const rows = requirements.filter((row) => row.source === source);
      const columns = requirementColumns.slice(1);
      return [
        `### ${name}`,
        `Applies ${applies}. [Source](${url})`,
        [
          toRow(columns),
          toRow(columns.map(() => "---")),
          ...rows.map((row) => toRow(listRequirementCells(row).slice(1))),
        ].join("\n"),
      ].join("\n\n");
    })
    .join("\n\n");
}
