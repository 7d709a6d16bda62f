"use client";
/** Name, mark and default visibility. Members see them and cannot change them. */
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { type ChosenMark, MarkFields } from "./logo-fields";
import { PortalForm } from "./shown-organization";

interface OrganizationFormProps {
  readonly action: FormAction;
  readonly name: string | null;
  readonly mark: ChosenMark;
  readonly isPublic: boolean;
  readonly pushShowsFacts: boolean;
  readonly canChange: boolean;
}

export function OrganizationForm(props: OrganizationFormProps) {
  const { action, name, mark, isPublic, pushShowsFacts, canChange } = props;
  const [state, submit] = useFormAction(action);
  const error = state.errors["name"];
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <Field
        id="organization-name"
        label="Organization name"
        hint="Approvers see it with the mark, and that you chose both yourself"
        error={error}
      >
        <Input
          {...describeControl("organization-name", { hint: true, error })}
          name="name"
          defaultValue={textValue(state, "name", name ?? "")}
          maxLength={100}
          required
          disabled={!canChange}
        />
      </Field>
      <MarkFields state={state} mark={mark} canChange={canChange} />
      <Field
        id="organization-default"
        label="New attestations are"
        hint="The default if a request doesn't set is_public. Existing attestations don't change."
      >
        <Select
          {...describeControl("organization-default", { hint: true })}
          name="default_public"
          defaultValue={textValue(state, "default_public", isPublic ? "public" : "private")}
          disabled={!canChange}
        >
          <option value="public">public</option>
          <option value="private">private</option>
        </Select>
      </Field>
      <Field
        id="organization-lock-screen"
        label="Notifications on approvers' devices"
        hint="What a locked screen can show. The message is encrypted to the device."
      >
        <Select
          {...describeControl("organization-lock-screen", { hint: true })}
          name="lock_screen"
          defaultValue={textValue(state, "lock_screen", pushShowsFacts ? "facts" : "nothing")}
          disabled={!canChange}
        >
          <option value="facts">amount, recipient, agent and action</option>
          <option value="nothing">only that a request waits</option>
        </Select>
      </Field>
      <FormStatus state={state} />
      {canChange ? (
        <div>
          <SubmitButton>Save</SubmitButton>
        </div>
      ) : (
        <p className="text-muted text-sm">Only owners can change this.</p>
      )}
    </PortalForm>
  );
}
