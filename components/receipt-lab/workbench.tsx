"use client";
/**
 * A golden receipt that the visitor can change, and what the real verifier says about it. Receipt and keys are those of
 * public/vectors, which this and every later release must verify.
 */
import { lazy, Suspense, useEffect, useId, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { Field, Textarea } from "#components/ui/field";
import { verifyInWorker } from "#components/verify/run-worker";
import type { VerifierReport } from "#lib/verifier/report/report";
import { breakages, joinReceipt, type ReceiptParts, splitReceipt } from "./break-receipt";

const ReportView = lazy(async () => ({
  default: (await import("#components/verify/report-view")).ReportView,
}));

const folder = "/vectors/1.0.0";
const pauseMs = 250;

async function fetchText(file: string): Promise<string> {
  const response = await fetch(`${folder}/${file}`);
  if (!response.ok) throw new Error(`the receipt couldn't be fetched (${response.status})`);
  return response.text();
}

type Outcome =
  | { readonly phase: "running" }
  | { readonly phase: "unreadable"; readonly reason: string }
  | { readonly phase: "done"; readonly report: VerifierReport };

function failuresFirst(report: VerifierReport): VerifierReport {
  const isFailed = ({ status }: VerifierReport["checks"][number]) => status === "fail";
  const { checks } = report;
  return { ...report, checks: [...checks.filter(isFailed), ...checks.filter((one) => !isFailed(one))] };
}

async function judge(parts: ReceiptParts, trust: string): Promise<Outcome> {
  try {
    const report = await verifyInWorker({ input: joinReceipt(parts), trust });
    return { phase: "done", report: failuresFirst(report) };
  } catch (error) {
    return { phase: "unreadable", reason: error instanceof Error ? error.message : "it can't be read" };
  }
}

/** The answer to the newest text; answers to older ones are dropped. */
function useOutcome(parts: ReceiptParts | null, trust: string): Outcome {
  const [outcome, setOutcome] = useState<Outcome>({ phase: "running" });
  useEffect(() => {
    if (parts === null) return;
    let isOld = false;
    const timer = setTimeout(() => {
      void judge(parts, trust).then((found) => {
        if (!isOld) setOutcome(found);
      });
    }, pauseMs);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [parts, trust]);
  return outcome;
}

function describe(outcome: Outcome): string {
  if (outcome.phase === "running") return "Verifying …";
  if (outcome.phase === "unreadable") return "This is no receipt any more.";
  const failed = outcome.report.checks.filter(({ status }) => status === "fail").length;
  if (failed === 0) return "Every check passes.";
  return failed === 1 ? "1 check fails." : `${failed} checks fail.`;
}

const isBroken = (outcome: Outcome) =>
  outcome.phase === "unreadable" || (outcome.phase === "done" && outcome.report.verdict === "invalid");

interface EditorProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function Editor({ label, hint, value, onChange }: EditorProps) {
  const id = useId();
  return (
    <Field id={id} label={label} hint={hint}>
      <Textarea
        id={id}
        aria-describedby={`${id}-hint`}
        rows={9}
        spellCheck={false}
        className="font-mono text-[13px] leading-5 [overflow-wrap:anywhere]"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

function Result({ outcome }: { readonly outcome: Outcome }) {
  return (
    <div className="min-w-0">
      {outcome.phase === "unreadable" ? (
        <Callout tone="fail" title="This is no receipt any more">
          The verifier refuses it: {outcome.reason}.
        </Callout>
      ) : null}
      {outcome.phase === "done" ? (
        <Suspense>
          <ReportView report={outcome.report} />
        </Suspense>
      ) : null}
    </div>
  );
}

interface Loaded {
  readonly whole: ReceiptParts;
  readonly trust: string;
}

function Editing({ whole, trust }: Loaded) {
  const [parts, setParts] = useState(whole);
  const outcome = useOutcome(parts, trust);
  const isWhole = parts.statement === whole.statement && parts.rest === whole.rest;
  return (
    <div className="grid gap-8 lg:grid-cols-2" data-lab={outcome.phase}>
      <div className="grid min-w-0 content-start gap-5">
        <div className="flex flex-wrap gap-2">
          {breakages.map(({ label, apply }) => (
            <Button key={label} variant="secondary" size="small" onClick={() => setParts(apply(whole))}>
              {label}
            </Button>
          ))}
          <Button variant="quiet" size="small" disabled={isWhole} onClick={() => setParts(whole)}>
            Undo
          </Button>
        </div>
        <p role="status" className={`font-medium ${isBroken(outcome) ? "text-fail" : "text-muted"}`}>
          {describe(outcome)}
        </p>
        <Editor
          label="The signed statement"
          hint="Change anything: a digit, a space, a quotation mark."
          value={parts.statement}
          onChange={(statement) => setParts({ ...parts, statement })}
        />
        <Editor
          label="Everything around it"
          hint="Signatures, the place in the log, the human's approval and its proof."
          value={parts.rest}
          onChange={(rest) => setParts({ ...parts, rest })}
        />
      </div>
      <Result outcome={outcome} />
    </div>
  );
}

export function Workbench() {
  const [loaded, setLoaded] = useState<Loaded | Error | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const load = async () => {
      const [receipt, trust] = await Promise.all([fetchText("human-approved.json"), fetchText("keys.json")]);
      return { whole: splitReceipt(receipt), trust };
    };
    load().then(setLoaded, (error: unknown) =>
      setLoaded(error instanceof Error ? error : new Error("failed")),
    );
    // The button that had the focus is gone.
    frame.current?.focus();
  }, []);
  return (
    <div ref={frame} tabIndex={-1} className="outline-none">
      {loaded === null ? <p className="text-muted">Loading the receipt and the verifier …</p> : null}
      {loaded instanceof Error ? (
        <Callout tone="fail" title="The receipt couldn't be loaded" alert>
          {loaded.message}
        </Callout>
      ) : null}
      {loaded !== null && !(loaded instanceof Error) ? <Editing {...loaded} /> : null}
    </div>
  );
}
