"use client";
/** Compares a visitor's file with the inputs hash of the record. The file doesn't leave the browser. */
import { useState } from "react";
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import { hashFile } from "#lib/protocol/encoding/read-stream";
import { FileDrop } from "./file-drop";

interface InputsFileProps {
  /** Hex, of the record. */
  readonly expected: string;
}

type Outcome =
  | { readonly phase: "idle" | "failed" }
  | { readonly phase: "hashing"; readonly share: number }
  | { readonly phase: "done"; readonly name: string; readonly hex: string };

function Found({ outcome, expected }: InputsFileProps & { readonly outcome: Outcome }) {
  switch (outcome.phase) {
    case "idle":
      return null;
    case "hashing":
      return <p>Hashing: {Math.round(outcome.share * 100)}%</p>;
    case "failed":
      return (
        <Callout tone="warn" title="The file couldn't be read">
          Choose it again.
        </Callout>
      );
    case "done":
      return outcome.hex === expected ? (
        <Callout tone="info" title="This is the file">
          “<AgentText value={outcome.name} isName hideWarnings />” has the inputs hash of this report, so the
          agent named exactly this file. It doesn't prove what the agent did with it.
        </Callout>
      ) : (
        <Callout tone="warn" title="This is another file">
          “<AgentText value={outcome.name} isName hideWarnings />” has the SHA-256{" "}
          <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{outcome.hex}</code>. The report
          names other inputs.
        </Callout>
      );
  }
}

export function InputsFile({ expected }: InputsFileProps) {
  const [outcome, setOutcome] = useState<Outcome>({ phase: "idle" });
  async function compare(file: File): Promise<void> {
    setOutcome({ phase: "hashing", share: 0 });
    try {
      const hex = await hashFile(file, (share) => setOutcome({ phase: "hashing", share }));
      setOutcome({ phase: "done", name: file.name, hex });
    } catch {
      setOutcome({ phase: "failed" });
    }
  }
  return (
    <div className="no-print mt-5">
      <FileDrop
        id="inputs-file"
        label="Do you have the file? Compare it with the inputs hash"
        hint="Choose it or drop it here. Your browser hashes it; nothing is sent."
        onFile={(file) => void compare(file)}
      />
      <div role="status" className="mt-3" data-inputs={outcome.phase}>
        <Found outcome={outcome} expected={expected} />
      </div>
    </div>
  );
}
