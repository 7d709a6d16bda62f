/** The exact signed bytes as text. Shown with hidden characters made visible; the copy button copies them raw. */
import { AgentText } from "#components/agent-text";
import { CopyButton } from "#components/ui/copy-button";

export function SignedBytes({ payload }: { readonly payload: string }) {
  return (
    <figure className="overflow-hidden rounded-md border border-line bg-sunken">
      <figcaption className="flex min-h-9 items-center justify-between gap-2 border-line border-b py-0.5 pr-1 pl-3 text-[13px] text-muted">
        <span>The signed bytes ({new TextEncoder().encode(payload).length.toLocaleString("en")} bytes)</span>
        <CopyButton text={payload} label="signed bytes" withText />
      </figcaption>
      {/* biome-ignore lint/a11y/useSemanticElements: a section would be a landmark, and this page has enough of them */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div role="group" aria-label="The signed bytes" tabIndex={0} className="signed-bytes overflow-y-auto">
        <code className="block px-3 py-3 font-mono text-[13px] leading-[1.6]">
          <AgentText value={payload} hideWarnings />
        </code>
      </div>
    </figure>
  );
}
