/** Filters as a plain GET form: they work without JavaScript and can be linked to. */
import { ApprovalOptions } from "#components/approval-grades";
import { Button } from "#components/ui/button";
import { ButtonLink } from "#components/ui/button-link";
import { Field, Input, Select } from "#components/ui/field";

interface FeedFilterProps {
  readonly path: string;
  readonly approval: string | undefined;
  readonly action: string | undefined;
  readonly warnings: string | undefined;
  readonly isSorted: boolean;
}

export function FeedFilterForm({ path, approval, action, warnings, isSorted }: FeedFilterProps) {
  return (
    <search>
      <form
        action={path}
        className="no-print grid items-end gap-3 sm:grid-cols-2 lg:grid-cols-[minmax(0,1fr)_minmax(0,16rem)_minmax(0,13rem)_auto_auto]"
      >
        {isSorted ? <input type="hidden" name="sort" value="amount" /> : null}
        <Field id="filter-action" label="Action contains">
          <Input id="filter-action" name="action" type="search" maxLength={200} defaultValue={action ?? ""} />
        </Field>
        <Field id="filter-approval" label="Human approval">
          <Select id="filter-approval" name="approval" defaultValue={approval ?? ""}>
            <option value="">Any</option>
            <ApprovalOptions />
          </Select>
        </Field>
        <Field id="filter-warnings" label="Warnings">
          <Select id="filter-warnings" name="warnings" defaultValue={warnings ?? ""}>
            <option value="">Any</option>
            <option value="true">With warnings</option>
            <option value="false">Without warnings</option>
          </Select>
        </Field>
        <Button type="submit" variant="secondary">
          Filter
        </Button>
        {approval === undefined && action === undefined && warnings === undefined ? null : (
          <ButtonLink href={path} variant="quiet">
            Show all
          </ButtonLink>
        )}
      </form>
    </search>
  );
}
