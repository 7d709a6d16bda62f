/** Filters of the API log. */

import { FilterBar } from "#components/portal/forms/filter-bar";
import { Field, Input, Select } from "#components/ui/field";
import type { RequestFilters } from "#lib/api/schemas/portal";
import { toVisibleText } from "#lib/protocol/text/display-text";

interface RequestFilterFormProps {
  readonly filters: RequestFilters;
  readonly keys: readonly { readonly id: string; readonly name: string }[];
  readonly isFiltered: boolean;
}

const classes = [
  { value: "2", text: "succeeded (2xx)" },
  { value: "4", text: "refused (4xx)" },
  { value: "5", text: "failed (5xx)" },
] as const;

export function RequestFilterForm({ filters, keys, isFiltered }: RequestFilterFormProps) {
  return (
    <FilterBar href="/portal/requests" filters={filters} isFiltered={isFiltered}>
      <Field id="filter-status" label="Response">
        <Select id="filter-status" name="status" defaultValue={filters.status ?? ""}>
          <option value="">any</option>
          {classes.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </Select>
      </Field>
      <Field id="filter-key" label="Key">
        <Select id="filter-key" name="key" defaultValue={filters.key ?? ""}>
          <option value="">any</option>
          {keys.map(({ id, name }) => (
            <option key={id} value={id}>
              {toVisibleText(name)}
            </option>
          ))}
        </Select>
      </Field>
      <Field id="filter-code" label="Error code">
        <Input
          id="filter-code"
          name="code"
          defaultValue={filters.code ?? ""}
          placeholder="validation_error"
        />
      </Field>
      <Field id="filter-id" label="Request id">
        <Input id="filter-id" name="id" defaultValue={filters.id ?? ""} placeholder="req_…" />
      </Field>
    </FilterBar>
  );
}
