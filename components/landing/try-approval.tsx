/** "Approve a payment": the button that starts the demo, beside a picture of what follows. */

import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { ApprovalPicture } from "./approval-picture";

export interface TryApprovalProps {
  /** Reason of the last refusal. */
  readonly refused?: "limit" | "busy" | undefined;
  readonly proof: "World ID" | "passkeys";
}

const refusals = {
  limit: "You have tried this often. Try again in an hour.",
  busy: "Too many people are trying this right now. Try again in a few minutes.",
} as const;

const steps = [
  "Our demo agent asks to pay 100.00 EUR.",
  "You open the request, on your phone or here, and approve or deny.",
  "You get the receipt, and verify it in your browser.",
] as const;

export function TryApproval({ refused, proof }: TryApprovalProps) {
  return (
    <div className="grid items-center gap-10 lg:grid-cols-[minmax(0,1fr)_minmax(0,24rem)]">
      <div>
        <ol className="grid gap-3 text-[17px]">
          {steps.map((step, index) => (
            <li key={step} className="flex gap-3">
              <span aria-hidden="true" className="font-mono text-muted">
                {index + 1}
              </span>
              {step}
            </li>
          ))}
        </ol>
        <form action="/demo" method="post" className="mt-6">
          <Button type="submit">Start a test payment</Button>
        </form>
        <p className="mt-3 text-muted text-sm">A TEST: no money moves, and no account is needed.</p>
        {refused === undefined ? null : (
          <div className="mt-4">
            <Callout tone="warn" title={refusals[refused]} />
          </div>
        )}
      </div>
      <ApprovalPicture proof={proof} />
    </div>
  );
}
