"use client";
import dynamic from "next/dynamic";
import { useEffect, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
/** The panel of an enrolled approver: the passkey first, and World ID after it if the request asks for a level. */
import { KeyIcon } from "#components/ui/icons";
import { TestMark } from "#components/ui/status-pill";
import { useIsReady } from "#components/ui/use-is-ready";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView, SentAssertion } from "#lib/api/schemas/approval-view";
import { DifferenceAlert } from "./difference-alert";
import { describeMissing } from "./groups-needed";
import { postJson } from "./post-json";
import { signByPasskey } from "./sign-by-passkey";
import { explainProblem } from "./world-id-words";

const WorldIdPanel = dynamic(() => import("./world-id-panel").then((module) => module.WorldIdPanel), {
  ssr: false,
  loading: () => <p className="text-muted">Loading World ID …</p>,
});

type Phase =
  | { kind: "ready" | "signing" | "sending" | "counted" }
  | { kind: "different"; differences: string[] }
  | { kind: "world-id"; passkey: SentAssertion }
  | { kind: "failed"; title: string; text: string };

interface PasskeyPanelProps {
  readonly view: ApprovalView;
  readonly token: string;
  /** Code as typed; empty if none is asked for. */
  readonly code: string;
  /** Number of presses on Approve outside: each one asks the device at once. */
  readonly turn: number;
  /** Asked before anything is signed; on false nothing is. */
  readonly mayStart?: () => boolean;
  /** True once all of the request was on the screen. */
  readonly isRead: boolean;
  readonly onChange: () => void;
  readonly onCounted: () => void;
}

/** Words the service's answer as the way by World ID does. */
async function send({ token, code, isRead }: PasskeyPanelProps, passkey: SentAssertion): Promise<Phase> {
  const body = { passkey, ...(code === "" ? {} : { code }) };
  const answer = await postJson(`/approve/${token}/passkey`, body, isRead);
  if (answer.ok) return { kind: "counted" };
  const { status, code: name, detail } = answer.problem;
  if (["approval_refused", "approver_not_enrolled", "passkey_refused"].includes(name))
    return { kind: "failed", title: "Your approval was not accepted", text: sentence(detail) };
  if (status === 0 || status >= 500)
    return {
      kind: "failed",
      title: "Your approval isn't confirmed",
      text: "We don't know whether it went through. This page will show it. You can also sign again: it counts once.",
    };
  return { kind: "failed", ...explainProblem(answer.problem, false) };
}

const sentence = (detail: string) => `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;

export function PasskeyPanel(props: PasskeyPanelProps) {
  const { view, turn, mayStart = () => true, onChange, onCounted } = props;
  const [phase, setPhase] = useState<Phase>({ kind: "ready" });
  const isReady = useIsReady();
  const top = useRef<HTMLElement>(null);
  const isBusy = phase.kind === "signing" || phase.kind === "sending";
  useKeptFocus(top, isBusy);

  async function sign(): Promise<void> {
    if (isBusy || !mayStart()) return;
    setPhase({ kind: "signing" });
    const signed = await signByPasskey(view, "approve");
    if (signed.kind !== "signed") return setPhase(signed);
    if (view.required_level !== "none") return setPhase({ kind: "world-id", passkey: signed.passkey });
    setPhase({ kind: "sending" });
    const sent = await send(props, signed.passkey);
    setPhase(sent);
    if (sent.kind === "counted") onCounted();
    onChange();
  }

  const latest = useRef(sign);
  useEffect(() => {
    latest.current = sign;
  });
  useEffect(() => {
    if (turn === 0) return;
    top.current?.focus();
    void latest.current();
  }, [turn]);

  if (phase.kind === "world-id") return <WorldIdPanel {...props} passkey={phase.passkey} />;
  return (
    <section
      ref={top}
      tabIndex={-1}
      className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4 outline-none sm:p-5"
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="font-semibold text-[17px]">Approve with your passkey</h3>
        {view.is_test ? <TestMark /> : null}
      </div>
      {phase.kind === "counted" ? (
        <Callout tone="pass" title="You approved." alert>
          {describeMissing(view) ?? "The decision will appear here shortly."}
        </Callout>
      ) : (
        <>
          <p className="text-[15px] text-muted">
            Your device signs exactly this request.
            {view.required_level === "none" ? "" : " World ID follows, in the same visit."}
          </p>
          <Button disabled={isBusy || !isReady} onClick={() => void sign()}>
            <KeyIcon aria-hidden="true" className="size-5 shrink-0" />
            {isBusy ? "Waiting for your device …" : "Use your passkey"}
          </Button>
          <noscript>
            <p className="text-muted text-sm">Passkeys need JavaScript.</p>
          </noscript>
        </>
      )}
      {phase.kind === "different" ? <DifferenceAlert differences={phase.differences} where="page" /> : null}
      {phase.kind === "failed" ? (
        <Callout tone="warn" title={phase.title} alert>
          {phase.text}
        </Callout>
      ) : null}
    </section>
  );
}
