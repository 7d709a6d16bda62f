/** Attestations of the last 30 days, as bars. The numbers are also in a table, for screen readers. */
import { formatCount } from "#lib/protocol/text/display-text";

export interface UsageDay {
  readonly day: string;
  readonly attestations: number;
}

const ticksEvery = 7;
const shortDay = (day: string) => day.slice(5);
const describe = ({ day, attestations }: UsageDay) => `${day}: ${formatCount(attestations, "attestation")}`;

/** The least of 1, 2, 5, 10, 20, 50, … that is not below `value`: the top of the axis. */
function roundUp(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 5].find((step) => step * magnitude >= value) ?? 10) * magnitude;
}

export function UsageChart({ days }: { readonly days: readonly UsageDay[] }) {
  const top = roundUp(Math.max(1, ...days.map(({ attestations }) => attestations)));
  return (
    <div aria-hidden="true" className="grid grid-cols-[auto_1fr] gap-x-2 text-xs text-muted tabular-nums">
      <div className="flex h-44 flex-col justify-between text-right">
        <span className="-mt-2">{top.toLocaleString("en")}</span>
        <span className="-mb-2">0</span>
      </div>
      <div className="flex h-44 items-end gap-px border-t border-line border-b border-b-line-strong">
        {days.map((one) => (
          <div key={one.day} title={describe(one)} className="flex h-full flex-1 items-end hover:bg-sunken">
            <div
              className="w-full forced-color-adjust-none rounded-t-xs bg-accent-fill forced-colors:bg-[CanvasText]"
              style={{ height: `${(one.attestations / top) * 100}%` }}
            />
          </div>
        ))}
      </div>
      <div />
      <div className="mt-1 flex gap-px">
        {days.map(({ day }, at) => (
          <span key={day} className="flex w-0 flex-1 justify-end whitespace-nowrap">
            {at % ticksEvery === 1 ? shortDay(day) : ""}
          </span>
        ))}
      </div>
    </div>
  );
}
