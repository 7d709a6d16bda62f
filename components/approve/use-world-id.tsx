"use client";
/**
 * The way from the click to an approval: check the page against its hash → fresh RP signature → wallet → send the
 * proof. Every open and every retry starts at the top; a received proof is kept until the service has it.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import type { ApprovalView, SentAssertion, WalletPreset, WorldIdStart } from "#lib/api/schemas/approval-view";
import { bindRequest } from "#lib/protocol/approval/approval";
import { findDifferences } from "./check-shown";
import { postJson } from "./post-json";
import { type AskedPresets, explainProblem, explainWalletError, type Words } from "./world-id-words";

export type Phase =
  | { kind: "starting" }
  | { kind: "different"; where: "page" | "start"; differences: string[] }
  | { kind: "wallet"; start: WorldIdStart; preset: WalletPreset; signal: string }
  | { kind: "sending" }
  | { kind: "counted" }
  | { kind: "failed"; words: Words };

interface WorldIdProps {
  readonly view: ApprovalView;
  readonly token: string;
  readonly code: string;
  readonly passkey?: SentAssertion;
  /** True once all of the request was on the screen. */
  readonly isRead: boolean;
  /** The request's state is another now. */
  readonly onChange: () => void;
  /** The server has counted this visitor's proof. */
  readonly onCounted: () => void;
}

/** Names the values to sign that differ from this browser's own: the server could ask for another request's. */
function compareStart(start: WorldIdStart, view: ApprovalView): string[] {
  const computed = bindRequest(view.request);
  const differences: string[] = [];
  if (start.action !== computed.world_action) differences.push("World ID action");
  if (start.signal !== computed.signal) differences.push("signal");
  return differences;
}

async function begin({ view, token, code }: WorldIdProps, wanted: WalletPreset | undefined): Promise<Phase> {
  const shown = findDifferences(view);
  if (shown.length > 0) return { kind: "different", where: "page", differences: shown };
  const answer = await postJson(`/approve/${token}/world-id`, code === "" ? {} : { code });
  if (!answer.ok) return { kind: "failed", words: explainProblem(answer.problem, false) };
  const start = answer.body as WorldIdStart;
  const differences = compareStart(start, view);
  if (differences.length > 0) return { kind: "different", where: "start", differences };
  // Another person's approval may have fixed the version in the meantime.
  const preset = wanted === start.fallback && wanted !== null ? wanted : start.preset;
  return { kind: "wallet", start, preset, signal: bindRequest(view.request).signal };
}

export function useWorldId(props: WorldIdProps) {
  const [phase, setPhase] = useState<Phase>({ kind: "starting" });
  const latest = useRef(props);
  const proof = useRef<unknown>(undefined);
  const run = useRef(0);
  useEffect(() => {
    latest.current = props;
  });

  const start = useCallback(async (wanted?: WalletPreset) => {
    run.current += 1;
    const mine = run.current;
    setPhase({ kind: "starting" });
    const next = await begin(latest.current, wanted);
    if (run.current !== mine) return;
    setPhase(next);
    // Shows the request's current state, whatever the reason.
    if (next.kind === "failed") latest.current.onChange();
  }, []);
  useEffect(() => {
    void start();
    return () => {
      run.current += 1;
    };
  }, [start]);

  const send = useCallback(async () => {
    setPhase({ kind: "sending" });
    const { token, passkey, isRead } = latest.current;
    const answer =
      passkey === undefined
        ? await postJson(`/approve/${token}/proof`, proof.current, isRead)
        : await postJson(`/approve/${token}/passkey`, { passkey, result: proof.current }, isRead);
    setPhase(
      answer.ok ? { kind: "counted" } : { kind: "failed", words: explainProblem(answer.problem, true) },
    );
    if (answer.ok) latest.current.onCounted();
    latest.current.onChange();
  }, []);

  /**
   * Current phase, for the button that leads here: it repeats the next step after a failure, and does nothing while
   * something is under way.
   */
  const shown = useRef(phase);
  useEffect(() => {
    shown.current = phase;
  });
  const goOn = useCallback(() => {
    const { current } = shown;
    if (current.kind === "different") void start();
    if (current.kind !== "failed" || current.words.next === "none") return;
    void (current.words.next === "send-again" ? send() : start());
  }, [start, send]);

  const takeProof = useCallback(
    (result: unknown) => {
      proof.current = result;
      void send();
    },
    [send],
  );
  const takeError = useCallback((code: string, asked: AskedPresets) => {
    setPhase({ kind: "failed", words: explainWalletError(code, asked) });
  }, []);
  return { phase, start, send, goOn, takeProof, takeError };
}
