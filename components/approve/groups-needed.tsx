/** Groups that still have to approve. */
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import type { ApprovalView } from "#lib/api/schemas/approval-view";

const numbers = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];

/** "One more person of finance is needed."; null if nobody is. */
export function describeMissing({ groups, status }: Pick<ApprovalView, "groups" | "status">): string | null {
  const missing = groups.filter(({ count, given }) => given < count);
  if (missing.length === 0 || status !== "pending") return null;
  const each = missing.map(({ name, count, given }) => {
    const left = count - given;
    const more = given > 0 ? " more" : "";
    const who = `${left === 1 ? "person" : "people"} of ${name ?? "a required group"}`;
    return `${numbers[left] ?? left}${more} ${who} ${left === 1 ? "is" : "are"} needed.`;
  });
  return each.join(" ");
}

export function GroupsNeeded({ view }: { readonly view: ApprovalView }) {
  const missing = describeMissing(view);
  if (missing === null) return null;
  return (
    <Callout tone="info" title="Enrolled approvers decide">
      <AgentText value={missing} hideWarnings /> Each person counts once.{" "}
      {view.request.amends?.by === undefined ? "" : "Whoever changed the request has to approve it too. "}
      Their passkey is needed to approve and to deny. One denial ends the request.
      {view.deputies.map(({ deputy, replaced }) => (
        <span key={`${deputy} ${replaced}`} className="mt-1 block">
          <AgentText value={deputy} isName hideWarnings /> decides as deputy of{" "}
          <AgentText value={replaced} isName hideWarnings />, and the receipt says so.
        </span>
      ))}
    </Callout>
  );
}

/** Approvals needed from each group. Names of those who approved are gone with an erased request's content. */
export function RequiredGroups({ view }: { readonly view: ApprovalView }) {
  return (
    <ul className="flex flex-col gap-0.5">
      {view.groups.map(({ name, count, given }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: names are null after an erasure, and the order never changes
        <li key={index}>
          {view.is_erased ? count : `${given} of ${count}`} from{" "}
          <AgentText value={name ?? "a required group"} isName />
        </li>
      ))}
    </ul>
  );
}
