/** The chart's numbers as a table. */
import type { UsageDay } from "./usage-chart";

export function UsageTable({ days }: { readonly days: readonly UsageDay[] }) {
  const used = days.filter(({ attestations }) => attestations > 0);
  return (
    <details className="mt-3 text-sm">
      <summary className="w-fit py-2 text-muted hover:text-ink">Show as table</summary>
      {used.length === 0 ? (
        <p>No attestations in the last {days.length} days.</p>
      ) : (
        <table className="mt-2">
          <caption className="sr-only">Attestations per UTC day. Days without any are left out.</caption>
          <thead>
            <tr className="text-left text-muted">
              <th scope="col" className="py-1 pr-6 font-medium">
                Day (UTC)
              </th>
              <th scope="col" className="py-1 text-right font-medium">
                Attestations
              </th>
            </tr>
          </thead>
          <tbody>
            {used.map(({ day, attestations }) => (
              <tr key={day}>
                <th scope="row" className="py-1 pr-6 text-left font-normal tabular-nums">
                  {day}
                </th>
                <td className="py-1 text-right tabular-nums">{attestations}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
