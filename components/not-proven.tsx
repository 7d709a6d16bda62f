/** Limits of an attestation's proof. The landing page and every verify page show the same list. */

const notProven = [
  {
    id: "happened",
    claim: "That the action happened as reported.",
    why: "The receipt proves what the agent reported, when, and under which key. The report itself can be wrong.",
  },
  {
    id: "read",
    claim: "That a person read the approval page.",
    why: "World ID proves that a key of an enrolled human approved exactly this request, and a passkey that an unlocked device of an enrolled approver did. A program can hold a key, and a person can be tricked into approving something else. Comparing the confirmation code helps, but does not rule this out.",
  },
  {
    id: "who",
    claim: "Who the human is.",
    why: "World ID gives no name, and it may not be the human you had in mind. Who an enrolled approver is, and in which groups, is the organization's word.",
  },
  {
    id: "script",
    claim: "That this page's JavaScript is honest.",
    why: "We serve it. The offline verifier is one file that you can read, keep and run without us.",
  },
  {
    id: "split-view",
    claim: "That everyone sees the same log, as long as no witness signs its checkpoints.",
    why: "A witness is a third party that signs only one history. Without one, a dishonest log could show two.",
  },
] as const;

export function NotProven() {
  return (
    <ul className="divide-y divide-line border-line border-t">
      {notProven.map((item) => (
        <li key={item.id} className="grid gap-x-8 gap-y-1 py-4 md:grid-cols-2">
          <p className="font-medium">{item.claim}</p>
          <p className="text-[15px] text-muted">{item.why}</p>
        </li>
      ))}
    </ul>
  );
}
