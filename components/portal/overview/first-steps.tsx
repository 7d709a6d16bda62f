/**
 * First steps of an organization: three steps that tick themselves off. The card goes when all three are done. Forms and links
 * work without JavaScript, which only adds that the page notices the approval by itself.
 */
import { QRCodeSVG } from "qrcode.react";
import type { ReactNode } from "react";
import { attestCommand } from "#components/commands";
import { EnrolPasskey } from "#components/passkeys/enrol-passkey";
import type { PasskeyActions } from "#components/passkeys/passkey-actions";
import { FocusNews } from "#components/portal/forms/focus-news";
import { StepForm } from "#components/portal/forms/step-form";
import type { CreatedKey } from "#components/portal/keys/key-dialogs";
import { LiveRefresh } from "#components/portal/shell/live-refresh";
import { ButtonLink } from "#components/ui/button-link";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { StepIcon } from "#components/ui/step-icon";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import { FirstKey } from "./first-key";

interface FirstStepsProps {
  readonly steps: {
    readonly hasKey: boolean;
    readonly attestation: { readonly id: string; readonly slug: string } | null;
    readonly approval: { readonly isApproved: boolean; readonly approvalUrl: string } | null;
  };
  readonly base: string;
  /** The service answers on this machine only, so that a phone can't open its links. */
  readonly isLoopback: boolean;
  /** The service has no World ID, so a group of approvers decides. */
  readonly isByPasskey: boolean;
  /** True if somebody of a group has a passkey, so that the group decides. */
  readonly hasPasskeys: boolean;
  /** Null if somebody of a group has one, or the person can't add one. */
  readonly addPasskey: Pick<PasskeyActions, "begin" | "finish"> | null;
  readonly createKey: FormAction<CreatedKey>;
  readonly sendAttestation: FormAction;
  readonly askForApproval: FormAction;
}

interface StepProps {
  readonly title: string;
  readonly isDone: boolean;
  /** Between to do and done. */
  readonly isWaiting?: boolean;
  readonly children: ReactNode;
}

function Step({ title, isDone, isWaiting = false, children }: StepProps) {
  return (
    <li
      data-done={isDone}
      className="flex gap-3 border-line border-b py-4 first:pt-0 last:border-0 last:pb-0"
    >
      <StepIcon isDone={isDone} />
      <div className="min-w-0 flex-1">
        <FocusNews news={`${isDone} ${isWaiting}`}>
          <h3 className={`font-medium ${isDone ? "text-muted" : ""}`}>
            {title}
            {isDone ? <span className="ml-2 font-normal text-pass text-sm">Done</span> : null}
          </h3>
          <div className="mt-1 text-[15px] text-muted">{children}</div>
        </FocusNews>
      </div>
    </li>
  );
}

function AttestationStep({ steps, base, sendAttestation }: FirstStepsProps) {
  if (steps.attestation !== null) {
    const { id, slug } = steps.attestation;
    return <TextLink href={`/verify/${encodeURIComponent(slug)}/${id}`}>See what anyone can verify</TextLink>;
  }
  return (
    <>
      <p>Signed, added to the public log, and open to verification in a second.</p>
      <div className="mt-3">
        <StepForm action={sendAttestation} label="Send an attestation" isOpen={steps.hasKey} />
      </div>
      <details className="mt-2">
        <summary className="inline-flex min-h-9 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
          Send it from a shell instead
        </summary>
        <p className="mt-1 mb-2">Set COUNTERSIGN_API_KEY to your key, then paste this:</p>
        <CodeBlock label="Your first attestation" title="Shell" code={attestCommand(base)} />
      </details>
    </>
  );
}

function PasskeyOffer({ isByPasskey, addPasskey }: Pick<FirstStepsProps, "isByPasskey" | "addPasskey">) {
  if (addPasskey === null) return null;
  return (
    <div className={isByPasskey ? "" : "mt-4 border-line border-t pt-3"}>
      <p className="mb-3">
        {isByPasskey ? "Add" : "Or approve with a passkey: add"} one on this device or your phone. It makes
        you an approver, in a group “approvers” that your agents can name.
      </p>
      <EnrolPasskey actions={addPasskey} isFirst={false} label="Add a passkey" />
    </div>
  );
}

function ApprovalStep({
  steps,
  isLoopback,
  isByPasskey,
  hasPasskeys,
  addPasskey,
  askForApproval,
}: FirstStepsProps) {
  const { approval } = steps;
  if (approval?.isApproved) return <p>Your agents can ask for approvals the same way.</p>;
  if (approval === null)
    return (
      <>
        {isByPasskey && addPasskey !== null ? (
          <PasskeyOffer isByPasskey addPasskey={addPasskey} />
        ) : (
          <>
            <p>
              {isByPasskey || hasPasskeys
                ? "Approvers of your organization can decide by passkey now. Request an approval as an agent would."
                : "Request an approval as an agent would, and decide on it yourself."}
            </p>
            <div className="mt-3">
              <StepForm action={askForApproval} label="Request an approval" isOpen={steps.hasKey} />
            </div>
            <PasskeyOffer isByPasskey={false} addPasskey={addPasskey} />
          </>
        )}
      </>
    );
  return (
    <div className={`grid items-center gap-4 ${isLoopback ? "" : "sm:grid-cols-[auto_minmax(0,1fr)]"}`}>
      <LiveRefresh />
      {isLoopback ? null : (
        <QRCodeSVG
          value={approval.approvalUrl}
          size={148}
          marginSize={3}
          level="M"
          title="QR code of your approval page"
          className="rounded-md border border-line"
        />
      )}
      <div>
        <p>
          {isLoopback ? "Open the page and approve." : "Scan the code with your phone and approve."} This step
          completes by itself.
        </p>
        {isLoopback ? (
          <p className="mt-1">This instance answers on this machine only, so a phone can't reach it.</p>
        ) : null}
        <p className="mt-2">
          <ButtonLink href={approval.approvalUrl} variant="secondary" size="small">
            Open the approval page
          </ButtonLink>
        </p>
      </div>
    </div>
  );
}

export function FirstSteps(props: FirstStepsProps) {
  const { hasKey, attestation, approval } = props.steps;
  const isApproved = approval?.isApproved === true;
  const done = [hasKey, attestation !== null, isApproved].filter(Boolean).length;
  if (done === 3) return null;
  return (
    <Card
      title="Get started"
      action={<span className="text-muted text-sm">{done} of 3 done</span>}
      className="mb-5"
    >
      <ol>
        <Step title="Create an API key" isDone={hasKey}>
          <FirstKey action={props.createKey} hasKey={hasKey} command={attestCommand(props.base)} />
        </Step>
        <Step title="Send your first attestation" isDone={attestation !== null}>
          <AttestationStep {...props} />
        </Step>
        <Step
          title={props.isLoopback ? "Approve your first request" : "Approve your first request on your phone"}
          isDone={isApproved}
          isWaiting={approval !== null && !isApproved}
        >
          <ApprovalStep {...props} />
        </Step>
      </ol>
    </Card>
  );
}
