"use client";
/** Change of what the agent allows to be changed. Loaded when somebody wants to: most requests allow nothing. */
import { type FormEvent, useEffect, useRef, useState } from "react";
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Input, Textarea } from "#components/ui/field";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { applyChanges, listFollowers } from "#lib/protocol/approval/amendment";
import { formatAmount, padDecimals } from "#lib/protocol/approval/amount";
import { labelNames } from "#lib/protocol/approval/detail-names";
import { readField } from "#lib/protocol/approval/shown-content";
import { explainRefusal, type Problem, postJson } from "./post-json";
import { explainUnsigned, signIfRequired } from "./sign-by-passkey";

interface ChangeFormProps {
  readonly view: ApprovalView;
  readonly token: string;
  readonly code: string;
  /** Number of times that this form was opened: each time it takes the focus. */
  readonly turn: number;
  readonly onChange: () => void;
}

interface Trouble {
  title: string;
  text: string;
  field?: string;
}

export function explainChange({ status, detail }: Problem): Trouble {
  if (status === 0 || status >= 500)
    return {
      title: "Your change isn't confirmed",
      text: "We don't know whether it went through. This page will show it.",
    };
  return { title: "The change was not accepted", text: explainRefusal("Nothing was changed", detail) };
}

/** Fields of the form with their values; details that follow the amount have none. */
function listFields({ request, context }: ApprovalView) {
  const followers = listFollowers(request, context);
  const label = labelNames(Object.keys(context));
  return (request.amendable ?? []).flatMap((field) => {
    const name = readField(field);
    if (name === undefined || (name !== null && followers.includes(name))) return [];
    if (name !== null) return [{ field, label: label(name), value: context[name] ?? "" }];
    return request.amount ? [{ field, label: "Amount", value: padDecimals(request.amount) }] : [];
  });
}

export function ChangeForm({ view, token, code, turn, onChange }: ChangeFormProps) {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const start = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (turn > 0) start.current?.focus();
  }, [turn]);
  useKeptFocus(start, busy);
  const fields = listFields(view);
  const { amount } = view.request;

  async function send(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const changes = Object.fromEntries(
      fields.map(({ field }) => [field, String(form.get(field) ?? "").trim()]),
    );
    const found = applyChanges(view.request, view.context, changes);
    if ("problem" in found) return setTrouble({ title: "", text: found.problem, field: found.field });
    if (found.fields.length === 0)
      return setTrouble({
        title: "Nothing is different yet",
        text: "Change a value, or approve the request as it is.",
      });
    setBusy(true);
    setTrouble(null);
    const signed = await signIfRequired(view, "amend");
    if (signed !== null && signed.kind !== "signed") {
      setBusy(false);
      return setTrouble(explainUnsigned(signed));
    }
    const answer = await postJson(`/approve/${token}/amend`, {
      changes,
      ...(code === "" ? {} : { code }),
      ...(signed === null ? {} : { passkey: signed.passkey }),
    });
    if (answer.ok) {
      const { approval_url } = answer.body as { approval_url: string };
      window.location.assign(new URL(approval_url).pathname);
      return;
    }
    onChange();
    setBusy(false);
    setTrouble(explainChange(answer.problem));
  }

  return (
    <form
      ref={start}
      tabIndex={-1}
      onSubmit={(event) => void send(event)}
      className="flex flex-col gap-4 rounded-lg border border-line bg-surface p-4 outline-none sm:p-5"
    >
      <h3 className="font-semibold text-[17px]">Change, then approve</h3>
      <p className="-mt-2 text-[15px] text-muted">
        A new request with your values takes the place of this one. You see it next, and approve or deny it.
        The agent learns what you changed.
      </p>
      {fields.map(({ field, label, value }) => {
        const id = `change-${field}`;
        const error = trouble?.field === field ? trouble.text : undefined;
        const isAmount = readField(field) === null;
        const hint =
          isAmount && amount ? `In ${amount.currency}, less than ${formatAmount(amount)}` : undefined;
        const control = {
          ...describeControl(id, { hint: hint !== undefined, error }),
          name: field,
          defaultValue: value,
          disabled: busy,
        };
        return (
          <Field key={field} id={id} label={<AgentText value={label} isName />} hint={hint} error={error}>
            {isAmount || value.length <= 80 ? (
              <Input {...control} autoComplete="off" {...(isAmount && { inputMode: "decimal" as const })} />
            ) : (
              <Textarea {...control} rows={4} />
            )}
          </Field>
        );
      })}
      {trouble === null || trouble.field !== undefined ? null : (
        <Callout tone="warn" title={trouble.title} alert>
          {trouble.text}
        </Callout>
      )}
      <Button type="submit" disabled={busy}>
        {busy
          ? "Sending …"
          : view.groups.length > 0
            ? "Change with your passkey"
            : "Show the changed request"}
      </Button>
    </form>
  );
}
