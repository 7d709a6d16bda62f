"use client";
/** A person's passkeys, with what they can do to each. */
import { useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Input } from "#components/ui/field";
import { useRefresh } from "#components/ui/router";
import { Timestamp } from "#components/ui/timestamp";
import { useIsReady } from "#components/ui/use-is-ready";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { PasskeyAnswer, ShownPasskey } from "#lib/api/schemas/rosters";
import { EnrolPasskey } from "./enrol-passkey";
import type { PasskeyActions } from "./passkey-actions";

type Mode = "shown" | "renaming" | "removing";

interface PasskeyRowProps {
  readonly passkey: ShownPasskey;
  readonly actions: PasskeyActions;
}

function usePasskeyAction() {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = useRefresh();
  async function run(action: () => Promise<PasskeyAnswer>, done: () => void): Promise<void> {
    setIsBusy(true);
    const answer = await action().catch(
      (): PasskeyAnswer => ({
        ok: false,
        message: "We lost the connection and don't know whether this went through. Reload to see.",
      }),
    );
    setIsBusy(false);
    setProblem(answer.ok ? null : answer.message);
    if (!answer.ok) return;
    done();
    await refresh();
  }
  return { isBusy, problem, run };
}

function PasskeyRow({ passkey, actions }: PasskeyRowProps) {
  const [mode, setMode] = useState<Mode>("shown");
  const [name, setName] = useState(passkey.name);
  const isReady = useIsReady();
  const { isBusy, problem, run } = usePasskeyAction();
  const show = () => setMode("shown");
  const row = useRef<HTMLLIElement>(null);
  useKeptFocus(row, `${mode} ${isBusy}`);
  const label = <span className="sr-only"> {passkey.name}</span>;
  return (
    <li
      ref={row}
      tabIndex={-1}
      className="flex flex-col gap-2 border-line border-t py-3 outline-none first:border-t-0"
    >
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="min-w-0">
          <span className="block font-medium [overflow-wrap:anywhere]">{passkey.name}</span>
          <span className="block text-muted text-sm">
            added <Timestamp iso={passkey.createdAt} />
            {passkey.lastUsedAt === null ? ", not used yet" : null}
            {passkey.lastUsedAt === null ? null : (
              <>
                , last used <Timestamp iso={passkey.lastUsedAt} />
              </>
            )}
          </span>
        </div>
        {mode === "shown" ? (
          <div className="flex gap-2">
            <Button variant="secondary" size="small" disabled={!isReady} onClick={() => setMode("renaming")}>
              Rename{label}
            </Button>
            <Button variant="secondary" size="small" disabled={!isReady} onClick={() => setMode("removing")}>
              Remove{label}
            </Button>
          </div>
        ) : null}
      </div>
      {mode === "renaming" ? (
        <form
          className="flex flex-wrap gap-2"
          action={() => run(() => actions.rename(passkey.id, name), show)}
        >
          <Input
            aria-label="Name of the passkey"
            className="max-w-xs"
            maxLength={64}
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Button type="submit" disabled={isBusy}>
            Save
          </Button>
          <Button variant="secondary" disabled={isBusy} onClick={show}>
            Cancel
          </Button>
        </form>
      ) : null}
      {mode === "removing" ? (
        <div className="flex flex-col gap-2">
          <p>It can't decide any more. What it decided before stays valid.</p>
          <div className="flex flex-wrap gap-2">
            <Button
              variant="danger"
              disabled={isBusy}
              onClick={() => void run(() => actions.remove(passkey.id), show)}
            >
              Remove passkey
            </Button>
            <Button variant="secondary" disabled={isBusy} onClick={show}>
              Keep it
            </Button>
          </div>
        </div>
      ) : null}
      <p role="status" className="font-medium text-fail text-sm empty:hidden">
        {problem}
      </p>
    </li>
  );
}

interface PasskeyListProps {
  readonly passkeys: readonly ShownPasskey[];
  readonly actions: PasskeyActions;
  /** Limit for one person. */
  readonly max: number;
}

export function PasskeyList({ passkeys, actions, max }: PasskeyListProps) {
  const frame = useRef<HTMLDivElement>(null);
  useKeptFocus(frame, passkeys.length);
  return (
    <div ref={frame} tabIndex={-1} className="flex flex-col gap-4 outline-none">
      {passkeys.length === 0 ? null : (
        <ul>
          {passkeys.map((passkey) => (
            <PasskeyRow key={passkey.id} passkey={passkey} actions={actions} />
          ))}
        </ul>
      )}
      {passkeys.length < max ? (
        <EnrolPasskey actions={actions} isFirst={passkeys.length === 0} />
      ) : (
        <p className="text-muted text-sm">{max} passkeys are the most. Remove one to add another.</p>
      )}
    </div>
  );
}
