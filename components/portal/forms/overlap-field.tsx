/** Time for which the old secret stays valid beside the new one. */
import { Field, Select } from "#components/ui/field";

export function OverlapField({ id, label }: { readonly id: string; readonly label: string }) {
  return (
    <Field id={id} label={label}>
      <Select id={id} name="overlap_hours" defaultValue="24">
        <option value="0">immediately</option>
        <option value="1">in 1 hour</option>
        <option value="24">in 1 day</option>
        <option value="168">in 7 days</option>
      </Select>
    </Field>
  );
}
