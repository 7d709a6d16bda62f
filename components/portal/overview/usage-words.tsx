/** Usage by a key or an agent, in one line for each kind of thing. */
import type { Usage } from "#lib/api/schemas/portal";

const number = (value: number) => value.toLocaleString("en");

export function UsageWords({ usage, of }: { readonly usage: Usage | undefined; readonly of?: string }) {
  if (usage === undefined || usage.days30 === 0)
    return (
      <span className="block text-muted">{of === undefined ? "none in 30 days" : `no ${of} in 30 days`}</span>
    );
  return (
    <span className="block tabular-nums">
      {of === undefined ? null : <span className="text-muted">{of}: </span>}
      {number(usage.today)} today, {number(usage.days7)} in 7 days, {number(usage.days30)} in 30 days
    </span>
  );
}
