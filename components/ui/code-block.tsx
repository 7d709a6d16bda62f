/** Code or exact bytes in a frame, with a copy button. Long lines scroll unless `wrap`; nothing is cut. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { CopyButton } from "./copy-button";

interface CodeBlockProps {
  readonly code: string;
  /** Names the block, for the scroll region and the copy button: "Ask for a key". */
  readonly label: string;
  /** Shown on top, for example a file name. */
  readonly title?: ReactNode;
  readonly wrap?: boolean;
  /** True if it includes an agent's text: hidden characters are marked. Copying takes it as it is. */
  readonly isAgents?: boolean;
  /** The same code in colours. */
  readonly coloured?: ReactNode;
}

export function CodeBlock({ code, label, title, wrap = false, isAgents = false, coloured }: CodeBlockProps) {
  return (
    <figure className="overflow-hidden rounded-md border border-line bg-sunken">
      <figcaption className="flex min-h-9 items-center justify-between gap-2 border-line border-b py-0.5 pr-1 pl-3 text-[13px] text-muted">
        <span>{title ?? label}</span>
        <CopyButton text={code} label={label} withText />
      </figcaption>
      {/* biome-ignore lint/a11y/useSemanticElements: a section would be a landmark, and a page has many of these */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div role="group" aria-label={label} tabIndex={0} className="overflow-x-auto">
        <pre
          className={`px-3 py-3 font-mono text-[13px] leading-[1.6] ${wrap ? "whitespace-pre-wrap [overflow-wrap:anywhere]" : "w-max min-w-full"}`}
        >
          <code>{isAgents ? <AgentText value={code} hideWarnings /> : (coloured ?? code)}</code>
        </pre>
      </div>
    </figure>
  );
}

/** A hash, id or signature inside text: breaks anywhere, copies whole. */
export function HashText({ value, label }: { readonly value: string; readonly label: string }) {
  return (
    <span className="inline-flex max-w-full items-start gap-1">
      <code className="min-w-0 py-1.5 font-mono text-[13px] leading-5 [overflow-wrap:anywhere]">{value}</code>
      <CopyButton text={value} label={label} />
    </span>
  );
}
