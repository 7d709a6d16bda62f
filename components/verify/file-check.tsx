"use client";
/** Verification of a file in this browser, and its result. The file doesn't leave the page; only the service's keys are fetched. */
import { lazy, type RefObject, Suspense, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import type { VerifierReport } from "#lib/verifier/report/report";
import type { CheckedPack } from "./run-pack";
import { verifyInWorker } from "./run-worker";

/** Needed after a verification only. */
const ReportView = lazy(async () => ({ default: (await import("./report-view")).ReportView }));
const PackView = lazy(async () => ({ default: (await import("./pack-view")).PackView }));

type Outcome =
  | { readonly phase: "idle" }
  | { readonly phase: "running" }
  /** A pack of so many entries; null until they are counted. */
  | { readonly phase: "counting"; readonly done: number; readonly total: number | null }
  | { readonly phase: "pack"; readonly checked: CheckedPack; readonly source: string }
  | { readonly phase: "failed"; readonly reason: string }
  | {
      readonly phase: "done";
      readonly report: VerifierReport;
      readonly isOurs: boolean;
    };

const maxBytes = 2_000_000;
/** More than any pack of ours has. */
const maxPackFileBytes = 4 * 1024 ** 3;

async function fetchKeys(): Promise<string> {
  const response = await fetch("/v1/pubkey", { cache: "no-store" });
  if (!response.ok) throw new Error(`the public keys could not be fetched (${response.status})`);
  return response.text();
}

export const explainError = (error: unknown) =>
  error instanceof Error ? error.message : "it could not be read";

/** `chosen`: the visitor's own keys, or null. If they can't be read, the service's don't take their place. */
async function verifyText(input: string, chosen: Promise<string | null>): Promise<Outcome> {
  try {
    const pinned = await chosen;
    const trust = pinned ?? (await fetchKeys());
    const expected = { nowSeconds: Date.now() / 1_000 };
    const report = await verifyInWorker({ input: `${input.trim()}\n`, trust, expected });
    return { phase: "done", report, isOurs: pinned === null };
  } catch (error) {
    return { phase: "failed", reason: explainError(error) };
  }
}

/** Beginning of every ZIP archive. */
const zipMark = "PK\u0003\u0004";

const isZip = async (file: File) => (await file.slice(0, zipMark.length).text()) === zipMark;

async function readFile(file: File | undefined): Promise<string | null> {
  if (file === undefined) return null;
  if (await isZip(file)) throw new Error("the file is a ZIP archive");
  if (file.size > maxBytes) throw new Error("the file is larger than 2 MB, so it isn't one of ours");
  return file.text();
}

/** A file that holds no keys is said to be the fault, beside its field, and not the evidence. */
export async function readKeys(file: File | undefined): Promise<string | null> {
  const text = await readFile(file);
  if (text !== null) (await import("#lib/verifier/checks/trust")).parseTrust(text);
  return text;
}

interface ProgressProps {
  readonly done: number;
  readonly total: number | null;
  readonly onStop: () => void;
}

function Progress({ done, total, onStop }: ProgressProps) {
  return (
    <div className="mt-6 flex flex-wrap items-center gap-x-4 gap-y-2">
      <progress
        aria-label="Entries checked"
        className="h-2 min-w-40 flex-1 accent-[var(--accent-fill)]"
        {...(total === null ? {} : { max: total, value: done })}
      />
      <p className="text-[15px] tabular-nums" data-checked={done}>
        {total === null ? "Reading the pack …" : `${done} of ${total} entries`}
      </p>
      <Button variant="secondary" size="small" onClick={onStop}>
        Stop
      </Button>
    </div>
  );
}

/** `pinned`: the visitor's own keys. `onText`: a file's text, before it is verified, or null for a pack. */
export function useFileCheck(
  pinned: RefObject<Promise<string | null>>,
  onText: (text: string | null) => void = () => {},
) {
  const [outcome, setOutcome] = useState<Outcome>({ phase: "idle" });
  const run = useRef(0);
  const stopPack = useRef(() => {});
  const result = useRef<HTMLDivElement>(null);

  /** No old verdict may be shown beside new input, and none may arrive that was requested before the input changed. */
  function forget(): void {
    run.current += 1;
    stopPack.current();
    setOutcome({ phase: "idle" });
  }

  function show(own: number, found: Outcome): void {
    if (own !== run.current) return;
    setOutcome(found);
    result.current?.focus();
  }

  async function verify(input: string): Promise<void> {
    run.current += 1;
    const own = run.current;
    setOutcome({ phase: "running" });
    show(own, await verifyText(input, pinned.current));
  }

  async function checkPack(file: File): Promise<Outcome> {
    const own = run.current;
    try {
      if (file.size > maxPackFileBytes) throw new Error("the file is larger than 4 GiB");
      const trust = (await pinned.current) ?? (await fetchKeys());
      const { checkInWorker } = await import("./run-pack");
      const begun = checkInWorker(file, trust, (done, total) => {
        if (own === run.current) setOutcome({ phase: "counting", done, total });
      });
      stopPack.current = begun.stop;
      return { phase: "pack", checked: await begun.checked, source: file.name };
    } catch (error) {
      return { phase: "failed", reason: explainError(error) };
    }
  }

  async function take(file: File): Promise<void> {
    forget();
    const own = run.current;
    if (await isZip(file).catch(() => false)) {
      onText(null);
      setOutcome({ phase: "counting", done: 0, total: null });
      show(own, await checkPack(file));
      return;
    }
    const read = await readFile(file).catch((error: unknown) => ({ reason: explainError(error) }));
    if (own !== run.current || read === null) return;
    if (typeof read === "string") {
      onText(read);
      await verify(read);
      return;
    }
    show(own, { phase: "failed", ...read });
  }

  /** A file that is still to come. */
  async function takeLater(fetchFile: () => Promise<File>): Promise<void> {
    forget();
    const own = run.current;
    setOutcome({ phase: "running" });
    const file = await fetchFile().catch((error: unknown) => ({ reason: explainError(error) }));
    if (own !== run.current) return;
    if (file instanceof File) await take(file);
    else show(own, { phase: "failed", ...file });
  }

  return { outcome, result, forget, verify, take, takeLater };
}

export function FileOutcome({
  outcome,
  result,
  forget,
}: Pick<ReturnType<typeof useFileCheck>, "outcome" | "result" | "forget">) {
  return (
    <>
      {outcome.phase === "counting" ? <Progress {...outcome} onStop={forget} /> : null}
      <div
        ref={result}
        tabIndex={-1}
        role="status"
        className="mt-6 outline-none"
        data-outcome={outcome.phase}
      >
        {outcome.phase === "failed" ? (
          <Callout tone="warn" title="This can't be verified">
            {`${outcome.reason.charAt(0).toUpperCase()}${outcome.reason.slice(1)}.`}
          </Callout>
        ) : null}
        {outcome.phase === "pack" ? (
          <Suspense>
            <PackView checked={outcome.checked} source={outcome.source} />
          </Suspense>
        ) : null}
        {outcome.phase === "done" ? (
          <Suspense>
            <ReportView report={outcome.report} isOurs={outcome.isOurs} />
          </Suspense>
        ) : null}
      </div>
    </>
  );
}
