"use client";
/** Attestations of the last 30 days. The numbers are also in a table, for screen readers and without JavaScript. */
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";

export interface UsageDay {
  readonly day: string;
  readonly attestations: number;
}

const tick = { fontSize: 12, fill: "var(--muted)" };
const shortDay = (day: string) => day.slice(5);

function UsageTooltip({ active, payload }: { active?: boolean; payload?: readonly { payload: UsageDay }[] }) {
  const shown = payload?.[0]?.payload;
  if (!active || !shown) return null;
  return (
    <div className="rounded-md border border-line-strong bg-surface px-3 py-2 text-sm">
      <p className="text-muted">{shown.day}</p>
      <p className="font-medium tabular-nums">
        {shown.attestations} {shown.attestations === 1 ? "attestation" : "attestations"}
      </p>
    </div>
  );
}

export function UsageChart({ days }: { readonly days: readonly UsageDay[] }) {
  return (
    <div aria-hidden="true" className="h-52">
      <ResponsiveContainer width="100%" height="100%" initialDimension={{ width: 320, height: 208 }}>
        <BarChart
          data={[...days]}
          margin={{ top: 8, right: 0, bottom: 0, left: 0 }}
          accessibilityLayer={false}
        >
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis
            dataKey="day"
            tickFormatter={shortDay}
            tick={tick}
            tickLine={false}
            axisLine={{ stroke: "var(--line-strong)" }}
            minTickGap={24}
          />
          <YAxis allowDecimals={false} tick={tick} tickLine={false} axisLine={false} width={36} />
          <Tooltip content={<UsageTooltip />} cursor={{ fill: "var(--sunken)" }} />
          <Bar dataKey="attestations" fill="var(--accent-fill)" isAnimationActive={false} />
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}
