"use client";
import { AgentText } from "#components/agent-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input } from "#components/ui/field";
import { Timestamp } from "#components/ui/timestamp";
import type { FormAction } from "#lib/api/schemas/form-state";
/** Days for which content is kept, and the legal hold. Members see them and cannot change them. */
import type { Retention } from "#lib/api/schemas/portal";
import { PortalForm } from "./shown-organization";

interface RetentionFormsProps {
  readonly retention: Retention;
  readonly actions: Readonly<Record<"save" | "begin" | "end", FormAction>>;
  readonly canChange: boolean;
}

function DaysForm({ retention: { days, startsAt }, actions, canChange }: RetentionFormsProps) {
  const [state, submit] = useFormAction(actions.save);
  const error = state.errors["days"];
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <Field
        id="retention-days"
        label="Erase content after (days)"
        hint="Empty: kept until somebody erases it. A shorter time begins a day later, and every owner gets an email. The EU AI Act asks providers and deployers of high-risk systems to keep logs for at least six months."
        error={error}
      >
        <Input
          {...describeControl("retention-days", { hint: true, error })}
          name="days"
          inputMode="numeric"
          defaultValue={textValue(state, "days", days === null ? "" : String(days))}
          disabled={!canChange}
          className="max-w-40"
        />
      </Field>
      {startsAt === null ? null : (
        <p className="text-muted text-sm">
          In force from <Timestamp iso={startsAt} relative={false} />
        </p>
      )}
      <FormStatus state={state} />
      {canChange ? (
        <div>
          <SubmitButton variant="secondary">Save</SubmitButton>
        </div>
      ) : null}
    </PortalForm>
  );
}

function Hold({ retention: { hold }, actions, canChange }: RetentionFormsProps) {
  return (
    <div className="flex flex-col gap-3">
      <h3 className="font-medium">Legal hold</h3>
      {hold === null ? (
        <p className="max-w-prose text-muted">
          Off. While it is on, nobody can erase content, by hand, by key or by age, and the organization can't
          be deleted.
        </p>
      ) : (
        <p className="max-w-prose">
          On since <Timestamp iso={hold.since} relative={false} />:{" "}
          <AgentText value={hold.reason} hideWarnings />
        </p>
      )}
      {canChange ? (
        <div>
          {hold === null ? (
            <ActionDialog
              triggerLabel="Begin legal hold"
              title="Begin a legal hold"
              description="Nothing can be erased until an owner ends the hold. Every owner gets an email."
              action={actions.begin}
              fields={{}}
              confirmLabel="Begin legal hold"
            >
              <Field id="hold-reason" label="Reason">
                <Input id="hold-reason" name="reason" required maxLength={300} autoComplete="off" />
              </Field>
            </ActionDialog>
          ) : (
            <ActionDialog
              triggerLabel="End legal hold"
              title="End the legal hold"
              description="Content can be erased again, and what is older than the retention time is erased within minutes. Every owner gets an email."
              action={actions.end}
              fields={{}}
              confirmLabel="End legal hold"
            />
          )}
        </div>
      ) : (
        <p className="text-muted text-sm">Only owners can change this.</p>
      )}
    </div>
  );
}

export function RetentionForms(props: RetentionFormsProps) {
  return (
    <div className="mt-6 flex flex-col gap-6 border-line border-t pt-5" id="retention">
      <DaysForm {...props} />
      <Hold {...props} />
    </div>
  );
}
