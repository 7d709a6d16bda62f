/** The stop button of one agent, when it was pressed, and why. */
import { AgentText } from "#components/agent-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { ReasonField } from "#components/portal/forms/reason-field";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import type { FormAction } from "#lib/api/schemas/form-state";

export interface Stop {
  readonly isFrozen: boolean;
  readonly at: string;
  readonly reason: string | null;
}

function StopList({ stops }: { readonly stops: readonly Stop[] }) {
  return (
    <ul className="mt-4 divide-y divide-line border-line border-t text-[15px]">
      {stops.map(({ isFrozen, at, reason }) => (
        <li key={`${at} ${isFrozen}`} className="py-2">
          <span className="font-medium">{isFrozen ? "Frozen" : "Unfrozen"}</span> <Timestamp iso={at} />
          {reason === null ? null : (
            <span className="block text-muted">
              <AgentText value={reason} hideWarnings />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

interface FreezeCardProps {
  readonly slug: string;
  readonly frozenAt: string | null;
  /** Newest first. */
  readonly stops: readonly Stop[];
  readonly freeze: FormAction;
  readonly unfreeze: FormAction;
}

export function FreezeCard({ slug, frozenAt, stops, freeze, unfreeze }: FreezeCardProps) {
  return (
    <Card title="Stop" className="mb-5">
      {frozenAt === null ? (
        <div className="flex flex-wrap items-center justify-between gap-4">
          <p className="max-w-prose text-muted">
            Something is wrong? Freeze the agent: its requests can't be approved, and its approvals can't be
            claimed or used, until you unfreeze it. <TextLink href="/docs/stop">What a freeze does</TextLink>
          </p>
          <ActionDialog
            triggerLabel="Freeze agent"
            triggerVariant="danger"
            isLarge
            title={`Freeze ${slug}`}
            description="Its requests can't be approved any more, and its approvals can't be claimed or used. Its process goes on, and its API key works under other slugs: end the process, and revoke the key under Keys."
            action={freeze}
            fields={{ slug }}
            confirmLabel="Freeze now"
          >
            <ReasonField id="freeze-reason" isRequired />
          </ActionDialog>
        </div>
      ) : (
        <>
          <Callout tone="fail" title="This agent is frozen">
            Since <Timestamp iso={frozenAt} />. Its requests can't be approved, and its approvals can't be
            claimed or used. What it does anyway can be attested, with a warning. The API key that it uses
            still works under other slugs: <TextLink href="/portal/keys">revoke it</TextLink> too.
          </Callout>
          <div className="mt-4">
            <ActionDialog
              triggerLabel="Unfreeze agent"
              isLarge
              title={`Unfreeze ${slug}`}
              description="The agent may go on: requests that still wait can be approved, and approvals that haven't expired can be used."
              action={unfreeze}
              fields={{ slug }}
              confirmLabel="Unfreeze"
              confirmVariant="neutral"
            >
              <ReasonField id="unfreeze-reason" />
            </ActionDialog>
          </div>
        </>
      )}
      {stops.length === 0 ? null : <StopList stops={stops} />}
    </Card>
  );
}
