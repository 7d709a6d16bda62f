/** Last events of an agent, newest first, and the amounts that were approved for it. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { describeStatus } from "#components/portal/approvals/authorization-status";
import type { AuthorizationRow } from "#components/portal/approvals/authorization-table";
import { ListTime } from "#components/ui/local-time";
import { Money } from "#components/ui/money";
import { TextLink } from "#components/ui/text-link";
import type { OwnAttestation } from "#lib/api/schemas/receipts";
import type { Amount } from "#lib/protocol/approval/amount";
import type { Stop } from "./freeze-card";

interface TimelineProps {
  readonly attestations: readonly (OwnAttestation & { readonly title: string | null })[];
  readonly decided: readonly AuthorizationRow[];
  readonly stops: readonly Stop[];
}

interface Event {
  readonly id: string;
  readonly at: string;
  readonly what: string;
  readonly shown: ReactNode;
  readonly amount?: Amount | null;
}

const shownEvents = 15;

function listEvents({ attestations, decided, stops }: TimelineProps): Event[] {
  const all: Event[] = [
    ...attestations.map(({ id, created_at: at, title, amount }) => ({
      id,
      at,
      what: "Recorded",
      amount,
      shown: (
        <TextLink href={`/portal/attestations/${id}`}>
          {title === null ? "(content erased)" : <AgentText value={title} isExcerpt />}
        </TextLink>
      ),
    })),
    ...decided.map((row) => ({
      id: row.request_id,
      at: row.revoked_at ?? row.decided_at ?? row.expires_at,
      what: describeStatus({
        status: row.status,
        amendedBy: row.amended_by,
        revokedAt: row.revoked_at,
        isOver: false,
      }),
      amount: row.amount,
      shown: (
        <TextLink href={`/portal/authorizations/${row.request_id}`}>
          {row.action === "" ? "Erased" : <AgentText value={row.title} isExcerpt />}
        </TextLink>
      ),
    })),
    ...stops.map(({ isFrozen, at, reason }) => ({
      id: `${at} ${isFrozen}`,
      at,
      what: isFrozen ? "Frozen" : "Unfrozen",
      shown: reason === null ? null : <AgentText value={reason} isExcerpt />,
    })),
  ];
  return all.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, shownEvents);
}

export function Timeline(props: TimelineProps) {
  const events = listEvents(props);
  if (events.length === 0) return <p className="text-muted">Nothing yet.</p>;
  return (
    <ol className="divide-y divide-line text-sm">
      {events.map(({ id, at, what, shown, amount }) => (
        <li
          key={id}
          className="grid gap-x-4 py-2 sm:grid-cols-[7rem_6rem_minmax(0,1fr)_auto] sm:items-baseline"
        >
          <span className="text-muted">
            <ListTime iso={at} />
          </span>
          <span className="font-medium">{what}</span>
          <span className="one-line min-w-0">{shown}</span>
          {amount ? (
            <b className="font-semibold tabular-nums">
              <Money {...amount} />
            </b>
          ) : null}
        </li>
      ))}
    </ol>
  );
}

interface SpendingProps {
  readonly sums: readonly { readonly currency: string; readonly today: string; readonly days30: string }[];
}

export function Spending({ sums }: SpendingProps) {
  if (sums.length === 0) return <p className="text-muted">No amounts approved in 30 days.</p>;
  return (
    <ul className="flex flex-col gap-4">
      {sums.map(({ currency, today, days30 }) => (
        <li key={currency}>
          <p className="font-semibold text-2xl tabular-nums">
            <Money value={days30} currency={currency} />
          </p>
          <p className="text-muted text-sm">
            in 30 days, <Money value={today} currency={currency} /> of it today (UTC)
          </p>
        </li>
      ))}
    </ul>
  );
}
