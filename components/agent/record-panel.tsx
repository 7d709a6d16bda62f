"use client";
/** The record of an agent, followed by the visitor's own browser, and what it found in words. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { StatusPill, type Tone } from "#components/ui/status-pill";
import { useIsReady } from "#components/ui/use-is-ready";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import type { RecordReport } from "#lib/verifier/checks/check-record";
import { isMiscounted } from "#lib/verifier/report/report";
import { ChainOutline, RecordChain } from "./record-chain";
import { followRecord, type RecordMessage } from "./run-record-check";

/** A longer record is fetched if the visitor asks for it. */
const followedByItself = 5_000;
/** The rows of as many agents, 1.4 MB, are fetched unasked. */
const summedByItself = 20_000;

const checkWords: Record<string, string> = {
  entries: "Every number is there, in the order of the log",
  head: "The chain leads to the head that the service shows",
  newest_signed: "The newest public attestation signs every number before it",
  snapshot: "The last signed count of all records leads to the same head",
  sum: "Every entry of the log is counted in it, and none twice",
  counted: "That count is of the last two hours, and ends with the last number",
};

const answers: Record<RecordReport["checks"][number]["status"], { tone: Tone; text: string }> = {
  pass: { tone: "pass", text: "yes" },
  fail: { tone: "fail", text: "no" },
  not_applicable: { tone: "neutral", text: "does not apply" },
  not_run: { tone: "neutral", text: "not checked" },
};

function writeTitle({ verdict, claimed, head, checks, snapshot }: RecordReport): string {
  const all = claimed.toLocaleString("en");
  const counted = (snapshot?.counted ?? 0).toLocaleString("en");
  if (verdict === "incomplete") {
    if (snapshot === null) return `Not counted: ${countEntries(claimed)}, and no signed count`;
    return snapshot.counted < claimed
      ? `Counted to number ${counted} of ${all}: the rest is not counted yet`
      : `Not counted since ${readableTime(snapshot.at)}`;
  }
  if (verdict === "valid" && claimed === 1) return "Complete: its one entry is as it was signed";
  if (verdict === "valid") return `Complete: all ${all} entries, none missing, none moved`;
  if (head.sequence < claimed)
    return `Not complete: your browser could follow it to number ${head.sequence.toLocaleString("en")} of ${all}`;
  return isMiscounted(checks)
    ? "Not right: the signed count of all records is another one"
    : "Not right: its entries are not those that were signed";
}

const verdictTones: Record<RecordReport["verdict"], "pass" | "fail" | "info"> = {
  valid: "pass",
  invalid: "fail",
  incomplete: "info",
};

function explainRecord({ verdict, snapshot }: RecordReport): string {
  if (verdict === "invalid")
    return "Don't rely on this record. Keep what you have, and run the offline verifier.";
  if (verdict === "incomplete")
    return "Your browser found no fault. The service signs a count every hour. Until then, only your receipts show whether newer entries are missing: keep them.";
  return `Your browser has just checked it against the count that the service signed at ${readableTime(snapshot?.at ?? "")}. Keep your receipts: what comes later is in the next count.`;
}

function Verdict({ report }: { readonly report: RecordReport }) {
  const { verdict } = report;
  return (
    <Callout
      tone={verdictTones[verdict]}
      title={writeTitle(report)}
      {...(verdict === "invalid" && { alert: true })}
    >
      {explainRecord(report)}
    </Callout>
  );
}

function Found({ report }: { readonly report: RecordReport }) {
  const { verdict, checks } = report;
  const shown = checks.filter(({ name }) => name !== "receipts");
  return (
    <>
      <RecordChain report={report} />
      <Checks isOpen={verdict === "invalid"}>
        {shown.map(({ name, status, detail }) => (
          <li key={name} className="border-line border-b py-4 last:border-0">
            <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
              <h3 className="font-medium">{checkWords[name] ?? name}</h3>
              <StatusPill tone={answers[status].tone}>
                Your browser:{" "}
                {name === "counted" && status === "not_applicable" ? "not counted" : answers[status].text}
              </StatusPill>
            </div>
            <p className="mt-1.5 text-[15px] text-muted [overflow-wrap:anywhere]">{toVisibleText(detail)}</p>
          </li>
        ))}
      </Checks>
    </>
  );
}

/** Same height before and after: the browser's result must not move the text that a person reads below it. */
const calloutRoom = "min-h-[11.5rem] sm:min-h-[6.75rem]";

function Checks({ isOpen, children }: { readonly isOpen: boolean; readonly children: ReactNode }) {
  return (
    <details open={isOpen} className="mt-5">
      <summary className="inline-flex min-h-9 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
        What your browser checks
      </summary>
      <ul className="mt-2 rounded-lg border border-line bg-surface px-4 sm:px-5">{children}</ul>
    </details>
  );
}

interface FollowingProps {
  readonly length: number;
  readonly progress: Extract<RecordMessage, { kind: "progress" }> | null;
}

function Following({ length, progress }: FollowingProps) {
  return (
    <Callout tone="info" title={`The service shows ${countEntries(length)}`}>
      <p>Your browser checks each of them against what was signed.</p>
      {progress === null ? null : (
        <progress
          className="mt-3 block h-2 w-full max-w-md appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent-fill [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent-fill"
          aria-label="Checked entries"
          max={progress.total}
          value={progress.checked}
        />
      )}
      <noscript>This needs JavaScript. The offline verifier does it too: node verify.mjs record.</noscript>
    </Callout>
  );
}

/** While the browser follows the record, in the shape of what it will find. */
function Outline({ length }: { readonly length: number }) {
  return (
    <>
      <ChainOutline length={length} />
      <Checks isOpen={false}>
        {Object.entries(checkWords).map(([name, words]) => (
          <li key={name} className="border-line border-b py-4 last:border-0">
            <h3 className="font-medium">{words}</h3>
          </li>
        ))}
      </Checks>
    </>
  );
}

const countEntries = (length: number) => formatCount(length, "entry", "entries");

interface RecordPanelProps {
  readonly slug: string;
  readonly length: number;
}

export function RecordPanel({ slug, length }: RecordPanelProps) {
  const [message, setMessage] = useState<RecordMessage | null>(null);
  const isReady = useIsReady();
  const end = useRef(() => {});
  const isShort = length <= followedByItself;
  useEffect(() => {
    if (isShort) end.current = followRecord({ slug, sumUpTo: summedByItself }, setMessage);
    return () => end.current();
  }, [slug, isShort]);
  const entries = countEntries(length);
  const [isPressed, setIsPressed] = useState(false);
  const news = useRef<HTMLDivElement>(null);
  // The button is gone that had the focus.
  useEffect(() => {
    if (isPressed) news.current?.focus();
  }, [isPressed]);
  if (message !== null || isShort)
    return (
      <>
        {/* One element from the beginning to the verdict: a screen reader announces what changes in it. */}
        <div ref={news} tabIndex={-1} aria-live="polite" className={`outline-none ${calloutRoom}`}>
          {message?.kind === "done" ? <Verdict report={message.report} /> : null}
          {message?.kind === "failed" ? (
            <Callout tone="warn" title="Your browser couldn't follow the record">
              {toVisibleText(message.problem)}
            </Callout>
          ) : null}
          {message === null || message.kind === "progress" ? (
            <Following length={length} progress={message} />
          ) : null}
        </div>
        {message?.kind === "done" ? <Found report={message.report} /> : null}
        {message === null || message.kind === "progress" ? <Outline length={length} /> : null}
      </>
    );
  return (
    <>
      <p>The service shows {entries}. Your browser can check each of them.</p>
      <Button
        className="mt-4"
        disabled={!isReady}
        onClick={() => {
          setIsPressed(true);
          setMessage({ kind: "progress", checked: 0, total: length });
          end.current = followRecord({ slug, sumUpTo: Number.POSITIVE_INFINITY }, setMessage);
        }}
      >
        Check all {entries}
      </Button>
    </>
  );
}
