/** Why: three situations in which somebody needs the record. */
import { CreditCardIcon, RocketLaunchIcon, ScaleIcon } from "#components/ui/icons";

const uses: readonly { Icon: typeof ScaleIcon; title: string; problem: string; answer: string }[] = [
  {
    Icon: CreditCardIcon,
    title: "A payment that needs a human",
    problem: "Your agent may prepare payments, but not send 12,000 EUR on its own.",
    answer:
      "Someone in finance sees the amount and the recipient on their phone, and approves or denies. The approval covers exactly this payment, once.",
  },
  {
    Icon: RocketLaunchIcon,
    title: "A deployment",
    problem: "Your coding agent ships all day. Production is different.",
    answer:
      "The release waits for two people. The record names the commit, the agent's key and tools, and both approvals, before anything goes live.",
  },
  {
    Icon: ScaleIcon,
    title: "An auditor who asks",
    problem: "“Who approved this, and can you show that nothing is missing?”",
    answer:
      "You send a link. They verify it in their browser or offline, without an account and without trusting you or us. A gap in the record shows.",
  },
];

export function Uses() {
  return (
    <ul className="grid gap-4 md:grid-cols-3">
      {uses.map(({ Icon, title, problem, answer }) => (
        <li key={title} className="rounded-lg border border-line bg-surface p-5">
          <Icon aria-hidden="true" className="size-6 text-accent" />
          <h3 className="mt-3 font-semibold text-[17px]">{title}</h3>
          <p className="mt-2 text-[15px] text-muted">{problem}</p>
          <p className="mt-2 text-[15px]">{answer}</p>
        </li>
      ))}
    </ul>
  );
}
