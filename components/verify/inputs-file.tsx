"use client";
/** Compares a visitor's file with the inputs hash of the record. The file doesn't leave the browser. */
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import { FileDrop } from "./file-drop";

/** `expected`: hex, of the record. */
export function InputsFile({ expected }: { readonly expected: string }) {
  const describe = ({ name }: File, hex: string) =>
    hex === expected ? (
      <Callout tone="info" title="This is the file">
        “<AgentText value={name} isName hideWarnings />” has the inputs hash of this report, so the agent
        named exactly this file. It doesn't prove what the agent did with it.
      </Callout>
    ) : (
      <Callout tone="warn" title="This is another file">
        “<AgentText value={name} isName hideWarnings />” has the SHA-256{" "}
        <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{hex}</code>. The report names other
        inputs.
      </Callout>
    );
  return (
    <div className="no-print mt-5">
      <FileDrop
        id="inputs-file"
        label="Do you have the file? Compare it with the inputs hash"
        hint="Choose it or drop it here. Your browser hashes it; nothing is sent."
        describe={describe}
      />
    </div>
  );
}
