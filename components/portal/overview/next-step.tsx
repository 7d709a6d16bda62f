/** Next step after the first three: one thing, the first that is missing. */

import { ButtonLink } from "#components/ui/button-link";
import { Card } from "#components/ui/card";
import type { NextStepName } from "#lib/api/schemas/portal";

const steps: Record<NextStepName, { title: string; why: string; href: string; label: string }> = {
  agent_key: {
    title: "Next: let your agent sign its reports",
    why: "Today only your API key backs them. With a key of its own, a receipt says that the agent signed.",
    href: "/portal/agents",
    label: "Register an agent's key",
  },
  approvers: {
    title: "Next: choose who approves",
    why: "They get requests by email, and you see who decided.",
    href: "/portal/approvers",
    label: "Add approvers",
  },
  domain: {
    title: "Next: prove your domain",
    why: "Approvers and readers of your receipts then see a domain that we checked, not only a name.",
    href: "/portal/settings",
    label: "Add a domain",
  },
};

export function NextStep({ name }: { readonly name: NextStepName }) {
  const { title, why, href, label } = steps[name];
  return (
    <Card title={title} className="mb-5">
      <p className="text-[15px] text-muted">{why}</p>
      <p className="mt-3">
        <ButtonLink href={href} size="small" variant="secondary">
          {label}
        </ButtonLink>
      </p>
    </Card>
  );
}
