/** A demo request's page: scan, decide, and see the receipt. JavaScript only saves the visitor from reloading. */
import { QRCodeSVG } from "qrcode.react";
import type { ReactNode } from "react";
import { Button } from "#components/ui/button";
import { ButtonLink } from "#components/ui/button-link";
import { Callout } from "#components/ui/callout";
import { StatusPill } from "#components/ui/status-pill";
import { StepIcon } from "#components/ui/step-icon";
import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import { DemoWatch, SubmitAtOnce } from "./demo-watch";

interface DemoViewProps {
  readonly status: AuthorizationStatus;
  readonly requestId: string;
  readonly confirmationCode: string;
  readonly approvalUrl: string;
  readonly receiptUrl: string | null;
  /** The service answers on this machine only, so that a phone can't open its links. */
  readonly isLoopback: boolean;
  /** Address that the button which creates the receipt posts to. */
  readonly receiptForm: string;
}

const endings: Partial<Record<AuthorizationStatus, string>> = {
  denied: "Denied. A real agent would stop here and report it.",
  expired: "Expired. Nobody decided within ten minutes.",
  cancelled: "Cancelled.",
};

function Stage({
  title,
  isDone,
  children,
}: {
  readonly title: string;
  readonly isDone: boolean;
  readonly children?: ReactNode;
}) {
  return (
    <li className="flex gap-3 border-line border-b py-5 last:border-0">
      <StepIcon isDone={isDone} />
      <div className="min-w-0 flex-1">
        <h2 className="font-medium">
          {title}
          {isDone ? <span className="sr-only">: done</span> : null}
        </h2>
        {children ? <div className="mt-2 text-[15px] text-muted">{children}</div> : null}
      </div>
    </li>
  );
}

function Decide({ approvalUrl, confirmationCode, isLoopback }: DemoViewProps) {
  return (
    <div className={`grid items-center gap-5 ${isLoopback ? "" : "sm:grid-cols-[auto_minmax(0,1fr)]"}`}>
      {isLoopback ? null : (
        <QRCodeSVG
          value={approvalUrl}
          size={176}
          marginSize={3}
          level="M"
          title="QR code of the approval page"
          className="rounded-md border border-line"
        />
      )}
      <div className="grid justify-items-start gap-3">
        <p>
          {isLoopback ? "Open the page." : "Scan the code with your phone, or open the page here."} It must
          show this code:
        </p>
        <p className="font-mono font-semibold text-ink text-xl">{confirmationCode}</p>
        {isLoopback ? <p>This instance answers on this machine only, so a phone can't reach it.</p> : null}
        <ButtonLink href={approvalUrl} target="_blank">
          Open the approval page
        </ButtonLink>
      </div>
    </div>
  );
}

export function DemoView(props: DemoViewProps) {
  const { status, requestId, receiptUrl, receiptForm } = props;
  const isApproved = status === "approved";
  const ending = endings[status];
  return (
    <div className="mx-auto max-w-2xl px-4 pt-10 sm:px-6 sm:pt-16" data-demo={receiptUrl ? "done" : status}>
      <StatusPill tone="test">TEST: no money moves</StatusPill>
      <h1 className="mt-3 font-semibold text-[2rem] leading-tight">Approve a test payment</h1>
      <p className="mt-3 text-lg text-muted">
        The demo agent wants to pay 100.00 EUR to Example Ltd. It waits until you decide.
      </p>
      {ending === undefined ? null : (
        <div className="mt-6">
          <Callout tone="info" title={ending}>
            <ButtonLink href="/#approve" variant="secondary" size="small">
              Start again
            </ButtonLink>
          </Callout>
        </div>
      )}
      <ol className="mt-6 rounded-lg border border-line bg-surface px-4 shadow-[var(--shadow-card)] sm:px-5">
        <Stage title="The agent requested approval" isDone />
        <Stage title={isApproved ? "You approved" : "You decide"} isDone={isApproved}>
          {status === "pending" ? <Decide {...props} /> : null}
        </Stage>
        <Stage title="The receipt" isDone={receiptUrl !== null}>
          {receiptUrl === null ? null : (
            <>
              <p className="mb-3">
                Signed, logged and public. Your approval's zero-knowledge proof is part of it.
              </p>
              <ButtonLink href={receiptUrl}>Open the receipt</ButtonLink>
            </>
          )}
          {isApproved && receiptUrl === null ? (
            <form action={receiptForm} method="post">
              <Button type="submit">Create the receipt</Button>
              <SubmitAtOnce />
            </form>
          ) : null}
          {status === "pending" ? <p>Follows when you have approved.</p> : null}
        </Stage>
      </ol>
      {status === "pending" ? (
        <>
          <DemoWatch requestId={requestId} />
          <noscript>
            <p className="mt-4 text-muted">Reload this page after you have decided.</p>
          </noscript>
        </>
      ) : null}
    </div>
  );
}
