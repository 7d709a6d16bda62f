/** Domains in the settings: what they are for, the list, and a form for one more. */
import { Card } from "#components/ui/card";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import { AddDomainForm } from "./domain-forms";
import { type Domain, type DomainActions, DomainList } from "./domain-list";

interface DomainsCardProps {
  readonly domains: readonly Domain[];
  /** Null for members. */
  readonly actions: (DomainActions & { readonly add: FormAction }) | null;
}

export function DomainsCard({ domains, actions }: DomainsCardProps) {
  return (
    <Card title="Domains" className="mt-5" id="domains">
      <p className="mb-4 max-w-prose text-[15px] text-muted">
        Approvers see your verified domains on every request, with the date of the last check. Anyone can
        choose a name like yours, but only whoever controls a domain can prove it.{" "}
        <TextLink href="/docs/approve#who-asks">How it works</TextLink>
      </p>
      <DomainList domains={domains} actions={actions} />
      {actions === null ? (
        <p className="mt-4 text-muted text-sm">Only owners can change domains.</p>
      ) : (
        <div className="mt-4 border-line border-t pt-5">
          <AddDomainForm action={actions.add} />
        </div>
      )}
    </Card>
  );
}
