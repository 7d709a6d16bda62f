/** The mark that an organization chose. Beside the name always, because it says nothing by itself. */
import type { OrganizationMark as Mark, MarkColor } from "#lib/protocol/text/organization-name";

const fills: Record<MarkColor, string> = {
  slate: "bg-mark-slate",
  blue: "bg-mark-blue",
  violet: "bg-mark-violet",
  teal: "bg-mark-teal",
  brown: "bg-mark-brown",
  plum: "bg-mark-plum",
};

export function OrganizationMark({ mark }: { readonly mark: Mark }) {
  return (
    <span
      aria-hidden="true"
      className={`inline-flex size-10 shrink-0 items-center justify-center rounded-lg font-semibold text-on-accent ${fills[mark.color]}`}
    >
      {mark.text}
    </span>
  );
}
