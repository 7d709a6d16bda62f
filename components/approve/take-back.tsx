"use client";
/** Taking back what was approved here, until something has used it. The same form posts by itself if no script runs. */
import { type FormEvent, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Textarea } from "#components/ui/field";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { CodeField } from "./code-field";
import { readReason } from "./deny-form";
import { type Problem, postJson } from "./post-json";
import { explainUnsigned, signIfRequired } from "./sign-by-passkey";

interface TakeBackProps {
  readonly view: ApprovalView;
  readonly token: string;
  /** The approval's state is another now. */
  readonly onChange: () => void;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function explain({ status, detail }: Problem): { title: string; text: string } {
  const text =
    status === 0 || status >= 500
      ? "We don't know whether this went through. This page will show it. You can also try again."
      : `${sentence(detail)}.`;
  return { title: "The approval was not taken back", text };
}

export function TakeBack({ view, token, onChange }: TakeBackProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<{ title: string; text: string } | null>(null);
  const form = useRef<HTMLFormElement>(null);
  useKeptFocus(form, busy);

  async function send(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    const given = new FormData(event.currentTarget);
    const [reason, code] = [readReason(given), String(given.get("code") ?? "")];
    const signed = await signIfRequired(view, "revoke");
    if (signed !== null && signed.kind !== "signed") {
      setBusy(false);
      setProblem(explainUnsigned(signed));
      return;
    }
    const answer = await postJson(`/approve/${token}/revoke`, {
      ...(reason === "" ? {} : { reason }),
      ...(code === "" ? {} : { code }),
      ...(signed === null ? {} : { passkey: signed.passkey }),
    });
    onChange();
    setBusy(false);
    // 409: an attestation was faster, and the page shows it.
    if (!answer.ok && answer.problem.status !== 409) setProblem(explain(answer.problem));
  }

  return (
    <details className="rounded-lg border border-line bg-surface p-4 sm:p-5">
      <summary className="cursor-pointer font-semibold text-[17px]">Changed your mind? Take it back</summary>
      <form
        method="post"
        action={`/approve/${token}/revoke`}
        onSubmit={(event) => void send(event)}
        ref={form}
        tabIndex={-1}
        className="mt-4 flex flex-col gap-4 outline-none"
      >
        <p className="text-[15px] text-muted">
          Until the agent has recorded the action, you can take the approval back. Nothing can use it then. An
          action that has begun isn't stopped by this.
          {view.groups.length === 0 ? "" : " Whoever approved it does so, with the same passkey."}
        </p>
        {problem === null ? null : (
          <Callout tone="fail" title={problem.title} alert>
            {problem.text}
          </Callout>
        )}
        {view.code_tries_left !== null ? <CodeField id="take-back-code" /> : null}
        <Field id="take-back-text" label="Reason (optional)">
          <Textarea {...describeControl("take-back-text", {})} name="reason" rows={2} maxLength={800} />
        </Field>
        <Button type="submit" variant="danger" disabled={busy}>
          {busy ? "Sending …" : "Take back the approval"}
        </Button>
      </form>
    </details>
  );
}
