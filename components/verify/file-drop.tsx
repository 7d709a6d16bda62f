"use client";
/** Takes a file by choosing or dropping it, hashes it in the browser, and shows what its parent makes of the hash. */
import { type ReactNode, useState } from "react";
import { Callout } from "#components/ui/callout";
import { Field, FileInput } from "#components/ui/field";
import { useIsReady } from "#components/ui/use-is-ready";
import { hashFile } from "#lib/protocol/encoding/read-stream";

interface FileDropProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: ReactNode;
  /** `hex`: SHA-256 of the file. */
  readonly describe: (file: File, hex: string) => Promise<ReactNode> | ReactNode;
}

type Outcome =
  | { readonly phase: "idle" }
  | { readonly phase: "hashing"; readonly share: number }
  | { readonly phase: "failed"; readonly reason: string }
  | { readonly phase: "done"; readonly found: ReactNode };

function Result({ outcome }: { readonly outcome: Outcome }) {
  switch (outcome.phase) {
    case "idle":
      return null;
    case "hashing":
      return <p>Hashing: {Math.round(outcome.share * 100)}%</p>;
    case "failed":
      return (
        <Callout tone="warn" title="That didn't work">
          {outcome.reason}
        </Callout>
      );
    case "done":
      return outcome.found;
  }
}

export function FileDrop({ id, label, hint, describe }: FileDropProps) {
  const [isOver, setIsOver] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>({ phase: "idle" });
  const isReady = useIsReady();
  async function take(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    setOutcome({ phase: "hashing", share: 0 });
    try {
      const hex = await hashFile(file, (share) => setOutcome({ phase: "hashing", share }));
      setOutcome({ phase: "done", found: await describe(file, hex) });
    } catch (error) {
      setOutcome({ phase: "failed", reason: error instanceof Error ? error.message : "Choose it again." });
    }
  }
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the field inside has the keyboard */}
      <div
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setIsOver(false);
          void take(event.dataTransfer.files[0]);
        }}
        className={`rounded-lg border-2 border-dashed px-4 py-4 sm:px-6 ${isOver ? "border-accent bg-accent-soft" : "border-line-strong"}`}
      >
        <Field id={id} label={label} hint={hint}>
          <FileInput
            id={id}
            disabled={!isReady}
            {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
            onChange={(event) => void take(event.target.files?.[0])}
          />
        </Field>
      </div>
      <div role="status" className="mt-4" data-hashed={outcome.phase}>
        <Result outcome={outcome} />
      </div>
    </>
  );
}
