/** Warnings about what saved rules let pass and seem to forbid. */
import { Callout } from "#components/ui/callout";
import type { SimulateResponse } from "#lib/api/schemas/rules";

export const RulesWarnings = ({ warnings }: Pick<SimulateResponse, "warnings">) =>
  warnings.map(({ line, column, message }) => (
    <Callout key={`${line} ${column} ${message}`} tone="warn" title={`Line ${line}`}>
      {message}
    </Callout>
  ));
