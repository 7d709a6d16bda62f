"use client";
/** Denial with a ready reason or free text. The same form posts by itself if no script runs. */
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Textarea } from "#components/ui/field";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { CodeField } from "./code-field";
import { splitDetails } from "./details";
import { explainRefusal, type Problem, postJson } from "./post-json";
import { explainUnsigned, signIfRequired } from "./sign-by-passkey";

/** Commands and files have no recipient. */
const listReasons = ({ amount, lead }: { amount: unknown; lead: readonly unknown[] }) => [
  "I did not expect this request",
  amount === undefined && lead.length === 0
    ? "The details are wrong"
    : "The amount or the recipient is wrong",
  "The details aren't enough to decide",
  "An agent shouldn't do this",
];
const maxReasonLength = 800;

/**
 * Buttons instead of radio buttons: browsers submit a form on Enter in a radio button, and here Enter decides nothing
 * but by a button that has the focus. Reason and text share one name; the service joins what is there.
 */
function ReasonFields({ busy, view }: Pick<FrameProps, "busy" | "view">) {
  const { request, context } = view;
  const { lead } = splitDetails({ ...request, context });
  return (
    <>
      <div className="flex flex-col gap-2">
        {listReasons({ amount: request.amount, lead }).map((reason) => (
          <Button
            key={reason}
            type="submit"
            name="reason"
            value={reason}
            variant="secondary"
            className="justify-start py-2 text-left"
            disabled={busy}
          >
            Deny: {reason}
          </Button>
        ))}
      </div>
      <Field id="deny-text" label="Or in your own words (optional)">
        <Textarea {...describeControl("deny-text", {})} name="reason" rows={3} maxLength={maxReasonLength} />
      </Field>
    </>
  );
}

interface FrameProps {
  readonly view: ApprovalView;
  readonly token: string;
  readonly children?: ReactNode;
  readonly busy: boolean;
  readonly onSubmit?: (event: FormEvent<HTMLFormElement>) => void;
}

function Frame({ view, token, children, busy, onSubmit }: FrameProps) {
  return (
    <form
      method="post"
      action={`/approve/${token}/deny`}
      {...(onSubmit === undefined ? {} : { onSubmit })}
      className="flex flex-col gap-4 rounded-lg border border-line bg-surface p-4 sm:p-5"
    >
      <h3 className="font-semibold text-[17px]">Deny this request</h3>
      <p className="-mt-2 text-[15px] text-muted">
        A denial is final. The agent is instructed to stop and report. The agent and its operator see the
        reason.
      </p>
      {children}
      <ReasonFields busy={busy} view={view} />
      <Button type="submit" variant="neutral" disabled={busy}>
        {busy ? "Sending …" : "Deny request"}
      </Button>
    </form>
  );
}

export function DenyFormPlain({
  asksCode,
  ...shown
}: Pick<FrameProps, "view" | "token"> & { readonly asksCode: boolean }) {
  return (
    <Frame {...shown} busy={false}>
      {asksCode ? <CodeField id="deny-code" /> : null}
    </Frame>
  );
}

export function readReason(form: FormData): string {
  return form
    .getAll("reason")
    .map((part) => String(part).trim())
    .filter((part) => part !== "")
    .join(": ");
}

/** An answer that is lost may be that of a denial that counts. */
export function explainDenial({ status, detail }: Problem): { title: string; text: string } {
  if (status === 0 || status >= 500) {
    const what = status === 0 ? "We lost the connection" : "The service failed";
    const text = `${what} and don't know whether your denial went through. This page will show it. You can also deny again: it counts once.`;
    return { title: "Your denial isn't confirmed", text };
  }
  return { title: "The denial was not accepted", text: explainRefusal("Nothing was decided", detail) };
}

interface DenyFormProps {
  readonly view: ApprovalView;
  readonly token: string;
  /** Code as typed; empty if none is asked for. */
  readonly code: string;
  /** Number of times that this form was opened: each time it takes the focus. */
  readonly turn: number;
  /** True once all of the request was on the screen. */
  readonly isRead: boolean;
  /** The request's state is another now. */
  readonly onChange: () => void;
  readonly onSent: () => void;
}

export function DenyForm({ view, token, code, turn, isRead, onChange, onSent }: DenyFormProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<{ title: string; text: string } | null>(null);
  const start = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (turn > 0) start.current?.focus();
  }, [turn]);
  useKeptFocus(start, busy);

  async function send(form: FormData): Promise<void> {
    setBusy(true);
    setProblem(null);
    const reason = readReason(form);
    const signed = await signIfRequired(view, "deny");
    if (signed !== null && signed.kind !== "signed") {
      setBusy(false);
      setProblem(explainUnsigned(signed));
      return;
    }
    const body = {
      ...(reason === "" ? {} : { reason }),
      ...(code === "" ? {} : { code }),
      ...(signed === null ? {} : { passkey: signed.passkey }),
    };
    const answer = await postJson(`/approve/${token}/deny`, body, isRead);
    onChange();
    // 409: somebody else was faster, and the page shows what they decided.
    if (answer.ok || answer.problem.status === 409) return onSent();
    setBusy(false);
    setProblem(explainDenial(answer.problem));
  }

  return (
    <div ref={start} tabIndex={-1} className="outline-none">
      <Frame
        view={view}
        token={token}
        busy={busy}
        onSubmit={(event) => {
          event.preventDefault();
          const { submitter } = event.nativeEvent as SubmitEvent;
          void send(new FormData(event.currentTarget, submitter));
        }}
      >
        {problem === null ? null : (
          <Callout tone="fail" title={problem.title} alert>
            {problem.text}
          </Callout>
        )}
      </Frame>
    </div>
  );
}
