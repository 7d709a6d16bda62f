/**
 * The one way that a string supplied by an agent reaches a page (pages.md): plain text in its own left-to-right
 * isolate, white space kept, nothing cut, hidden characters as ⟨U+202E⟩, and a warning in words where letters of
 * several scripts are mixed. Use it for action, context, metadata, agent name and description, denial reason.
 */
import { TriangleAlert } from "lucide-react";
import { type DisplaySegment, segmentText } from "#lib/domain/display-text";
import { findTextWarnings, type TextWarning } from "#lib/domain/mixed-script";

interface AgentTextProps {
  readonly value: string;
  /** A name (slug, agent name, field name) is judged as a whole; other text word by word. */
  readonly isName?: boolean;
  /** In dense tables, where the row's own page carries the warning. */
  readonly hideWarnings?: boolean;
  readonly className?: string;
}

const maxWarnings = 5;

function HiddenCharacter({ segment }: { readonly segment: DisplaySegment & { kind: "hidden" } }) {
  return (
    <>
      <span
        className="agent-text-chip"
        title={`Character ${segment.label}, which would not be seen as itself`}
      >
        ⟨{segment.label}⟩
      </span>
      {segment.value === "\n" ? "\n" : null}
    </>
  );
}

function Segments({ value }: { readonly value: string }) {
  // Segments have no identity but their place, and the string never changes in place.
  let offset = 0;
  return segmentText(value).map((segment) => {
    const key = offset;
    offset += segment.value.length;
    return segment.kind === "text" ? segment.value : <HiddenCharacter key={key} segment={segment} />;
  });
}

function explain(warning: TextWarning): string {
  switch (warning.kind) {
    case "mixed-script":
      return `mixes letters of different scripts (${warning.scripts.join(", ").replaceAll("_", " ")}) that can look alike:`;
    case "styled-letters":
      return "has letters drawn in another style, which are not the ordinary ones:";
    case "right-to-left":
      return "has right-to-left letters; digits and signs beside them may be shown in another order than they are stored.";
  }
}

function Warnings({ warnings }: { readonly warnings: readonly TextWarning[] }) {
  const shown = warnings.slice(0, maxWarnings);
  return (
    <span className="mt-1 flex flex-col gap-1 font-normal font-sans text-sm text-warn">
      {shown.map((warning) => (
        <span key={`${warning.kind} ${warning.word}`} className="flex items-start gap-1.5">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          <span>
            Careful: this text {explain(warning)}
            {warning.word === "" ? null : (
              <>
                {" "}
                <bdi dir="ltr" className="agent-text font-mono">
                  <Segments value={warning.word} />
                </bdi>
              </>
            )}
          </span>
        </span>
      ))}
      {warnings.length > shown.length ? <span>… and {warnings.length - shown.length} more.</span> : null}
    </span>
  );
}

export function AgentText({ value, isName = false, hideWarnings = false, className = "" }: AgentTextProps) {
  const found = hideWarnings ? [] : findTextWarnings(value, isName ? "whole" : "words");
  const warnings = [
    ...new Map(found.map((warning) => [`${warning.kind} ${warning.word}`, warning])).values(),
  ];
  return (
    <>
      <bdi dir="ltr" className={`agent-text ${className}`}>
        {value === "" ? <span className="text-muted italic">(empty)</span> : <Segments value={value} />}
      </bdi>
      {warnings.length > 0 ? <Warnings warnings={warnings} /> : null}
    </>
  );
}
