/** The organization's mark: characters and colour. Left empty, both follow from the name. */
import { OrganizationMark } from "#components/organization-logo";
import { textValue } from "#components/portal/forms/form-values";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormState } from "#lib/api/schemas/form-state";
import { type OrganizationMark as Mark, markColors } from "#lib/protocol/text/organization-name";

export interface ChosenMark {
  readonly text: string | null;
  readonly color: string | null;
  /** Mark derived from the name. */
  readonly shown: Mark;
}

interface MarkFieldsProps {
  readonly state: FormState<unknown>;
  readonly mark: ChosenMark;
  readonly canChange: boolean;
}

export function MarkFields({ state, mark, canChange }: MarkFieldsProps) {
  const error = state.errors["mark_text"];
  return (
    <div className="flex flex-wrap items-end gap-4">
      <OrganizationMark mark={mark.shown} />
      <Field id="organization-mark" label="Mark" hint="One or two letters or digits" error={error}>
        <Input
          {...describeControl("organization-mark", { hint: true, error })}
          name="mark_text"
          defaultValue={textValue(state, "mark_text", mark.text ?? "")}
          placeholder={mark.shown.text}
          maxLength={4}
          disabled={!canChange}
        />
      </Field>
      <Field id="organization-mark-color" label="Color">
        <Select
          id="organization-mark-color"
          name="mark_color"
          defaultValue={textValue(state, "mark_color", mark.color ?? "")}
          disabled={!canChange}
        >
          <option value="">automatic</option>
          {markColors.map((color) => (
            <option key={color} value={color}>
              {color}
            </option>
          ))}
        </Select>
      </Field>
    </div>
  );
}
