"use client";
/** The panel under the buttons while someone approves. */
import { useEffect, useRef } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { TestMark } from "#components/ui/status-pill";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView, SentAssertion, WalletPreset } from "#lib/api/schemas/approval-view";
import { describeForWallet } from "./details";
import { DifferenceAlert } from "./difference-alert";
import { describeMissing } from "./groups-needed";
import { useWorldId } from "./use-world-id";
import { WalletRequest } from "./wallet-request";
import type { Words } from "./world-id-words";

interface WorldIdPanelProps {
  readonly view: ApprovalView;
  readonly token: string;
  /** Code as typed; empty if none is asked for. */
  readonly code: string;
  /** True once all of the request was on the screen. */
  readonly isRead: boolean;
  /** Signature of an enrolled approver from this visit. */
  readonly passkey?: SentAssertion;
  /** Number of times that this way was chosen: each time it takes the focus and goes on after a failure. */
  readonly turn: number;
  readonly onChange: () => void;
  readonly onCounted: () => void;
}

const deviceLabel = "Use a World ID verified on a device only";

interface FailureProps {
  readonly words: Words;
  readonly onStart: (preset?: WalletPreset) => void;
  readonly onSend: () => void;
}

function Failure({ words, onStart, onSend }: FailureProps) {
  return (
    <div className="flex flex-col gap-3">
      <Callout tone={words.next === "none" ? "info" : "warn"} title={words.title} alert>
        {words.text}
      </Callout>
      {words.next === "start-again" ? (
        <Button variant="secondary" onClick={() => onStart()}>
          Start again
        </Button>
      ) : null}
      {words.next === "proof-of-human" ? (
        <Button variant="secondary" onClick={() => onStart("proof_of_human")}>
          Use World ID 4.0
        </Button>
      ) : null}
      {words.next === "device-legacy" ? (
        <Button variant="secondary" onClick={() => onStart("device_legacy")}>
          {deviceLabel}
        </Button>
      ) : null}
      {words.next === "send-again" ? (
        <Button variant="secondary" onClick={onSend}>
          Send the proof again
        </Button>
      ) : null}
    </div>
  );
}

export function WorldIdPanel(props: WorldIdPanelProps) {
  const { view } = props;
  const { phase, start, send, goOn, takeProof, takeError } = useWorldId(props);
  const top = useRef<HTMLElement>(null);
  useKeptFocus(top, phase.kind);
  const { turn } = props;
  useEffect(() => {
    if (turn === 0) return;
    top.current?.focus();
    top.current?.scrollIntoView({ block: "nearest" });
    goOn();
  }, [turn, goOn]);
  return (
    <section
      ref={top}
      tabIndex={-1}
      aria-labelledby="world-id"
      className="rounded-lg border border-line bg-surface p-4 outline-none sm:p-5"
    >
      <div className="mb-4 flex flex-wrap items-center justify-between gap-2">
        <h3 id="world-id" className="font-semibold text-[17px]">
          Approve with World ID
        </h3>
        {view.is_test ? <TestMark /> : null}
      </div>
      {phase.kind === "starting" ? (
        <p role="status" className="text-muted">
          Checking the hash and requesting a signature …
        </p>
      ) : null}
      {phase.kind === "different" ? (
        <DifferenceAlert differences={phase.differences} where={phase.where} />
      ) : null}
      {phase.kind === "wallet" ? (
        <>
          <WalletRequest
            key={phase.start.rp_context.nonce}
            start={phase.start}
            preset={phase.preset}
            signal={phase.signal}
            description={describeForWallet(view)}
            onProof={takeProof}
            onError={takeError}
          />
          <div className="mt-3 flex flex-col items-center gap-1">
            {phase.start.fallback === null || phase.preset === phase.start.fallback ? null : (
              <p className="text-center text-[15px] text-muted">
                This asks for a World ID that was verified with an Orb. If yours was verified on a device, ask
                for that instead.
              </p>
            )}
            <Button variant="quiet" size="small" onClick={() => void start(phase.preset)}>
              Start again
            </Button>
            {phase.start.fallback === null || phase.preset === phase.start.fallback ? null : (
              <Button variant="quiet" size="small" onClick={() => void start("device_legacy")}>
                {deviceLabel}
              </Button>
            )}
          </div>
        </>
      ) : null}
      {phase.kind === "sending" ? <p role="status">Checking your proof. This takes a few seconds …</p> : null}
      {phase.kind === "counted" ? (
        <Callout tone="pass" title="Your approval was counted" alert>
          {view.groups.length > 0
            ? `You approved. ${describeMissing(view) ?? "The decision will appear here shortly."}`
            : view.approvals.given < view.approvals.required
              ? "More people need to approve. Send them this page's link. The decision will appear here."
              : "The decision will appear here shortly."}
        </Callout>
      ) : null}
      {phase.kind === "failed" ? (
        <Failure words={phase.words} onStart={(preset) => void start(preset)} onSend={() => void send()} />
      ) : null}
    </section>
  );
}
