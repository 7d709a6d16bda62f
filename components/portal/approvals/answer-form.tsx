"use client";
/** Answer to the question that waits. It stays, with what became of it, when the question has its answer. */
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { Card } from "#components/ui/card";
import { describeControl, Field, Textarea } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { questionLimits } from "#lib/protocol/approval/amendment";

interface AnswerFormProps {
  readonly action: FormAction;
  readonly requestId: string;
  /** Null if none waits. */
  readonly number: number | null;
}

export function AnswerForm({ action, requestId, number }: AnswerFormProps) {
  const [state, submit] = useFormAction(action);
  const error = state.errors["answer"];
  if (number === null && state.status === "idle") return null;
  return (
    <Card title="Answer">
      <PortalForm action={submit} className="flex flex-col gap-4">
        {number === null ? null : (
          <>
            <input type="hidden" name="request_id" value={requestId} />
            <input type="hidden" name="number" value={number} />
            <Field
              id="answer"
              label="Your answer"
              hint="Whoever decides sees it with the request. An answer is final."
              error={error}
            >
              <Textarea
                {...describeControl("answer", { hint: true, error })}
                name="answer"
                rows={3}
                maxLength={questionLimits.answer}
                defaultValue={textValue(state, "answer")}
              />
            </Field>
          </>
        )}
        <FormStatus state={state} />
        {number === null ? null : (
          <div>
            <SubmitButton>Answer</SubmitButton>
          </div>
        )}
      </PortalForm>
    </Card>
  );
}
