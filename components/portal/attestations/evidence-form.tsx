/** A plain form that answers with a file, so it works without JavaScript; a second button makes a link. */
import { PortalForm } from "#components/portal/organization/shown-organization";
import { Button } from "#components/ui/button";
import { Checkbox, describeControl, Field, Input, Select } from "#components/ui/field";
import { type LinkAction, LinkButton, LinkDays } from "./opening-links";

interface EvidenceFormProps {
  readonly makeLink: LinkAction;
  /** Suggestions. */
  readonly slugs: readonly string[];
  readonly agent: string;
  /** Days in UTC. */
  readonly from: string;
  readonly until: string;
  readonly withPrivate: boolean;
}

export function EvidenceForm({ makeLink, slugs, agent, from, until, withPrivate }: EvidenceFormProps) {
  return (
    <PortalForm
      action="/portal/evidence/pack"
      method="post"
      keepsFields
      className="grid gap-4 sm:grid-cols-3 sm:items-end"
    >
      <Field
        id="evidence-agent"
        label="Agents"
        hint="Separate several with commas. Leave empty for all agents of your organization."
      >
        <Input
          {...describeControl("evidence-agent", { hint: true })}
          name="agent"
          list="evidence-agents"
          defaultValue={agent}
          autoComplete="off"
        />
      </Field>
      <datalist id="evidence-agents">
        {slugs.map((slug) => (
          <option key={slug} value={slug} />
        ))}
      </datalist>
      <Field id="evidence-from" label="From (UTC)">
        <Input id="evidence-from" name="from" type="date" defaultValue={from} required />
      </Field>
      <Field id="evidence-until" label="Until (UTC)">
        <Input id="evidence-until" name="until" type="date" defaultValue={until} required />
      </Field>
      <div className="sm:col-span-3">
        <Checkbox
          name="private"
          defaultChecked={withPrivate}
          label="Include the content of private attestations and of approval requests"
          hint="Without it, private entries show only that they exist."
        />
      </div>
      <div className="sm:col-span-3">
        <Field
          id="evidence-opening"
          label="Open details of approvals to the reader"
          hint="Checked against what was signed. Approvals that hash their details together can only be opened as a whole, so “payee” leaves them closed. Approvers' names are checked if their roster has them."
        >
          <Select {...describeControl("evidence-opening", { hint: true })} name="opening" defaultValue="none">
            <option value="none">Nothing: only hashes</option>
            <option value="payee">The payee alone</option>
            <option value="all">All details, who asked, and approvers' names</option>
          </Select>
        </Field>
      </div>
      <LinkDays id="evidence-days" />
      <div className="flex flex-wrap gap-3 sm:col-span-3">
        <Button type="submit">Download evidence pack</Button>
        <LinkButton action={makeLink} />
      </div>
    </PortalForm>
  );
}
