/** History of who can approve: each change made a new roster, whose hash is in the public log. */
import { Timestamp } from "#components/ui/timestamp";
import { type ApproverChange, describeApproverChange } from "#lib/protocol/passkey/roster";

interface RosterChangesProps {
  readonly rosters: readonly {
    readonly head: { readonly number: number; readonly changed_at: string };
    readonly hash: string;
    readonly log_index: number;
    readonly changes: readonly ApproverChange[];
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
                const words = describeApproverChange(change);
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
