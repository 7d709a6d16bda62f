/** The chain as a picture: one cell an entry, the newest last. A hole is a hole. */
import type { RecordMark, RecordReport } from "#lib/verifier/checks/check-record";

const cells: Record<RecordMark, { label: string; look: string }> = {
  public: { label: "Public", look: "bg-accent" },
  private: { label: "Private", look: "border border-accent bg-surface" },
  erased: { label: "Erased", look: "border border-line bg-line" },
  decision: { label: "Decision", look: "rounded-full bg-accent" },
  agent_change: {
    label: "Frozen, unfrozen or taken back",
    look: "rounded-full border border-accent bg-surface",
  },
};
const kinds = Object.keys(cells) as RecordMark[];

/** More would be a texture, not a picture. */
const shownAtMost = 240;

function Cell({ look }: { readonly look: string }) {
  return <span className={`block size-3 shrink-0 ${look}`} />;
}

/** The same picture before anything is known of the entries. */
export function ChainOutline({ length }: { readonly length: number }) {
  return (
    <figure aria-hidden="true" className="mt-5">
      <div className="flex flex-wrap gap-1">
        {Array.from({ length: Math.min(length, shownAtMost) }, (_, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries are never moved
          <Cell key={i} look="border border-line bg-sunken" />
        ))}
      </div>
      <figcaption className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-muted text-sm">
        {kinds.map((kind) => (
          <span key={kind} className="flex items-center gap-2">
            <Cell look={cells[kind].look} />
            {cells[kind].label}: …
          </span>
        ))}
        {length > shownAtMost ? <span>The newest {shownAtMost} are shown.</span> : null}
      </figcaption>
    </figure>
  );
}

const holeLook = "border border-fail border-dashed bg-transparent";

interface RecordChainProps {
  readonly report: RecordReport;
}

export function RecordChain({ report: { marks, claimed, verdict, checks } }: RecordChainProps) {
  const first = Math.max(0, marks.length - shownAtMost);
  const shown = marks.slice(first);
  const hasHole = verdict === "invalid" && marks.length < claimed;
  const counts = kinds.map((kind) => ({ kind, count: marks.filter((mark) => mark === kind).length }));
  // An entry is there, but not the one that belongs there.
  const isWrong = checks.some(
    ({ name, status, reason }) =>
      name === "entries" && status === "fail" && reason !== "record_number_missing",
  );
  const fault = isWrong ? "wrong" : "missing";
  const summary = `Numbers ${first + 1} to ${marks.length}${hasHole ? `, then a hole: number ${marks.length + 1} is ${fault}` : ""}`;
  return (
    <figure className="mt-5">
      <div role="img" aria-label={summary} className="flex flex-wrap gap-1">
        {shown.map((mark, i) => (
          // The place of an entry in the chain is what it is.
          // biome-ignore lint/suspicious/noArrayIndexKey: entries are never moved
          <Cell key={first + i} look={cells[mark].look} />
        ))}
        {hasHole ? <Cell look={holeLook} /> : null}
      </div>
      <figcaption className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-muted text-sm">
        {counts.map(({ kind, count }) => (
          <span key={kind} className="flex items-center gap-2">
            <Cell look={cells[kind].look} />
            {cells[kind].label}: {count.toLocaleString("en")}
          </span>
        ))}
        {hasHole ? (
          <span className="flex items-center gap-2 text-fail">
            <Cell look={holeLook} />
            {isWrong ? "Wrong" : "Missing"}: number {(marks.length + 1).toLocaleString("en")}
          </span>
        ) : null}
        {first > 0 ? <span>The newest {shownAtMost} are shown.</span> : null}
      </figcaption>
    </figure>
  );
}
