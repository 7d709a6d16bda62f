/** The deciders: below an approval's grade in a list, and each person of a receipt. */
import { type Facts, listPeople } from "#lib/protocol/record/facts";
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";
import { readableTime } from "#lib/protocol/time/time-words";
import { AgentText } from "./agent-text";

interface DecidedLineProps {
  readonly entry: { readonly decided: string | null; readonly human_approval_method: string | null };
}

/** Empty where the grade says it all. */
export function DecidedLine({ entry: { decided, human_approval_method: method } }: DecidedLineProps) {
  if (decided === null || !isApprovalMethod(method) || method === "none" || method === "hash") return null;
  return (
    <span className="block w-full text-muted">
      <AgentText value={decided} isExcerpt />
    </span>
  );
}

/** Method and time for each person; names are the organization's own and not in public. No line breaks within a time. */
export function PeopleList({ facts }: { readonly facts: Facts }) {
  const people = listPeople(facts);
  if (people.length === 0 || facts.decided.kind !== "people") return null;
  const times = facts.decided.people.map(({ at }) => (at === null ? "" : readableTime(at)));
  return (
    <ul className="text-[15px]" data-people>
      {people.map((person, index) => (
        <li key={person}>
          <AgentText
            value={person.slice(0, person.length - (times[index]?.length ?? 0)).trimEnd()}
            hideWarnings
          />{" "}
          <span className="whitespace-nowrap">{times[index]}</span>
        </li>
      ))}
    </ul>
  );
}
