/** Search and filters of the list of attestations. */

import { ApprovalOptions } from "#components/approval-grades";
import { FilterBar } from "#components/portal/forms/filter-bar";
import { Field, Input, Select } from "#components/ui/field";
import type { AttestationFilters } from "#lib/api/schemas/portal";

interface AttestationFilterFormProps {
  readonly filters: AttestationFilters;
  readonly slugs: readonly string[];
  readonly isFiltered: boolean;
}

const dates = [
  { name: "from", label: "From (UTC)" },
  { name: "until", label: "Until (UTC)" },
] as const;

function SelectFields({ filters }: { readonly filters: AttestationFilters }) {
  return (
    <>
      <Field id="filter-approval" label="Human approval">
        <Select id="filter-approval" name="approval" defaultValue={filters.approval ?? ""}>
          <option value="">any grade</option>
          <ApprovalOptions />
        </Select>
      </Field>
      <Field id="filter-warnings" label="Warnings">
        <Select id="filter-warnings" name="warnings" defaultValue={filters.warnings ?? ""}>
          <option value="">any</option>
          <option value="true">with warnings</option>
          <option value="false">without warnings</option>
        </Select>
      </Field>
    </>
  );
}

/** Rarely used fields. */
function MoreFields({ filters }: { readonly filters: AttestationFilters }) {
  return (
    <>
      <Field id="filter-visibility" label="Visibility">
        <Select id="filter-visibility" name="visibility" defaultValue={filters.visibility ?? ""}>
          <option value="">public and private</option>
          <option value="public">public only</option>
          <option value="private">private only</option>
        </Select>
      </Field>
      {dates.map(({ name, label }) => (
        <Field key={name} id={`filter-${name}`} label={label}>
          <Input id={`filter-${name}`} name={name} type="date" defaultValue={filters[name] ?? ""} />
        </Field>
      ))}
    </>
  );
}

export function AttestationFilterForm({ filters, slugs, isFiltered }: AttestationFilterFormProps) {
  return (
    <FilterBar
      href="/portal/attestations"
      filters={filters}
      isFiltered={isFiltered}
      more={<MoreFields filters={filters} />}
      isMoreUsed={[filters.visibility, filters.from, filters.until].some((value) => value !== undefined)}
    >
      <Field id="filter-q" label="Action, id or hash">
        <Input
          id="filter-q"
          name="q"
          type="search"
          defaultValue={filters.q ?? ""}
          placeholder="any part of it"
        />
      </Field>
      <Field id="filter-agent" label="Agent">
        <Input
          id="filter-agent"
          name="agent"
          list="filter-agents"
          defaultValue={filters.agent ?? ""}
          autoComplete="off"
          placeholder="any"
        />
      </Field>
      <datalist id="filter-agents">
        {slugs.map((slug) => (
          <option key={slug} value={slug} />
        ))}
      </datalist>
      <SelectFields filters={filters} />
    </FilterBar>
  );
}
