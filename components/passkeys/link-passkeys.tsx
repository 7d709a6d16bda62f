"use client";
/** A person's passkeys on the page of a mail's link. */
import { postJson } from "#components/approve/post-json";
import type { PasskeyAnswer, ShownPasskey } from "#lib/api/schemas/rosters";
import type { PasskeyActions } from "./passkey-actions";
import { PasskeyList } from "./passkey-list";

async function post<Value>(path: string, body: object): Promise<PasskeyAnswer<Value>> {
  const answer = await postJson(path, body);
  if (answer.ok) return answer.body as PasskeyAnswer<Value>;
  throw new Error(answer.problem.code);
}

const actionsAt = (path: string): PasskeyActions => ({
  begin: () => post(path, { action: "begin" }),
  finish: (name, response) => post(path, { action: "finish", name, response }),
  rename: (passkey_id, name) => post(path, { action: "rename", passkey_id, name }),
  remove: (passkey_id) => post(path, { action: "remove", passkey_id }),
});

interface LinkPasskeysProps {
  readonly token: string;
  readonly passkeys: readonly ShownPasskey[];
  readonly max: number;
}

export function LinkPasskeys({ token, ...rest }: LinkPasskeysProps) {
  return <PasskeyList {...rest} actions={actionsAt(`/notices/${token}/passkeys`)} />;
}
