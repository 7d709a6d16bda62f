/** How it came about who can approve: each change made a new roster, whose hash is in the public log. */
import { Timestamp } from "#components/ui/timestamp";
import { readableTime } from "#lib/protocol/time/time-words";

/** A place that a group of the provider or directory gave. */
interface ShownMapping {
  readonly group: string;
  readonly provider_group: string;
  readonly mapped_by: string;
}

export type ShownChange =
  | {
      readonly kind: "passkey_added";
      readonly person: string;
      readonly passkey: string;
      readonly groups: readonly string[];
      readonly mapped?: readonly ShownMapping[];
    }
  | { readonly kind: "passkey_removed"; readonly person: string; readonly passkey: string }
  | {
      readonly kind: "joined" | "left";
      readonly person: string;
      readonly group: string;
      readonly mapped?: readonly ShownMapping[];
    }
  | {
      readonly kind: "deputy_named";
      readonly person: string;
      readonly deputy: string;
      readonly from: string;
      readonly until: string;
    }
  | { readonly kind: "deputy_ended"; readonly person: string; readonly deputy: string };

const explain = (mapped: readonly ShownMapping[] = []) =>
  mapped
    .map(
      ({ group, provider_group, mapped_by }) =>
        ` (${group} by the group ${provider_group}, mapped by ${mapped_by})`,
    )
    .join("");

function describe(change: ShownChange): string {
  switch (change.kind) {
    case "passkey_added": {
      const groups = change.groups.length === 0 ? "" : ` (${change.groups.join(", ")})`;
      return `${change.person}${groups}: passkey "${change.passkey}" added${explain(change.mapped)}`;
    }
    case "passkey_removed":
      return `${change.person}: passkey "${change.passkey}" removed`;
    case "deputy_named":
      return `${change.deputy} is the deputy of ${change.person} from ${readableTime(change.from)} to ${readableTime(change.until)}`;
    case "deputy_ended":
      return `${change.deputy} is no longer the deputy of ${change.person}`;
    default:
      return `${change.person} ${change.kind} ${change.group}${explain(change.mapped)}`;
  }
}

interface RosterChangesProps {
  readonly rosters: readonly {
    readonly head: { readonly number: number; readonly changed_at: string };
    readonly hash: string;
    readonly log_index: number;
    readonly changes: readonly ShownChange[];
  }[];
}

export function RosterChanges({ rosters }: RosterChangesProps) {
  if (rosters.length === 0) return <p className="text-muted">Nobody has created a passkey yet.</p>;
  return (
    <>
      <p className="mb-4 text-muted">
        Each change makes a new roster. Its hash is in the public log, so nobody becomes an approver unseen,
        and every owner gets an email.
      </p>
      <ol className="flex flex-col gap-4">
        {rosters.map(({ head, hash, log_index: logIndex, changes }) => (
          <li key={head.number} className="border-line border-t pt-3 first:border-t-0 first:pt-0">
            <p className="text-muted text-sm">
              Roster {head.number}, <Timestamp iso={head.changed_at} />, log entry {logIndex}
            </p>
            <ul>
              {changes.map((change) => {
                const words = describe(change);
                return (
                  <li key={words} className="[overflow-wrap:anywhere]">
                    {words}
                  </li>
                );
              })}
            </ul>
            <code className="block text-muted text-xs [overflow-wrap:anywhere]">{hash}</code>
          </li>
        ))}
      </ol>
    </>
  );
}
