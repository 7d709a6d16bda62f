/** Three situations in which somebody needs the record. */
import { drawIcon, ScaleIcon } from "#components/ui/icons";

const CreditCardIcon = drawIcon(
  "M2.25 8.25h19.5M2.25 9h19.5m-16.5 5.25h6m-6 2.25h3m-3.75 3h15a2.25 2.25 0 0 0 2.25-2.25V6.75A2.25 2.25 0 0 0 19.5 4.5h-15a2.25 2.25 0 0 0-2.25 2.25v10.5A2.25 2.25 0 0 0 4.5 19.5Z",
);
const RocketLaunchIcon = drawIcon(
  "M15.59 14.37a6 6 0 0 1-5.84 7.38v-4.8m5.84-2.58a14.98 14.98 0 0 0 6.16-12.12A14.98 14.98 0 0 0 9.631 8.41m5.96 5.96a14.926 14.926 0 0 1-5.841 2.58m-.119-8.54a6 6 0 0 0-7.381 5.84h4.8m2.581-5.84a14.927 14.927 0 0 0-2.58 5.84m2.699 2.7c-.103.021-.207.041-.311.06a15.09 15.09 0 0 1-2.448-2.448 14.9 14.9 0 0 1 .06-.312m-2.24 2.39a4.493 4.493 0 0 0-1.757 4.306 4.493 4.493 0 0 0 4.306-1.758M16.5 9a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Z",
);

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
