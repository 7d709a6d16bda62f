/** After a call: what ran is attested, with the approval that it had or without. */

import { attest } from "#lib/client/api/attest";
import { type ApprovedAuthorization, requireApproval } from "#lib/client/api/authorize";
import {
  ApiError,
  ApprovalRevokedError,
  ApprovalUsedError,
  ConnectionError,
  CountersignError,
} from "#lib/client/api/errors";
import { sealInputs } from "#lib/client/api/inputs";
import type { Command } from "#lib/client/cli/io";
import { attestRun, attestStopped } from "#lib/client/gate/attest-run";
import { confirmApproval, type GatedAction } from "#lib/client/gate/gate";
import { canonicalHash } from "#lib/protocol/encoding/canonical-json";
import { askForCall, cancel, describeCall, type Hook, openHook, print } from "./call";
import { type Dialect, needsHuman, type ToolCall, type ToolPattern } from "./dialects";
import { type CallNote, findNote, listNotes, removeNote } from "./tools";

/** The tool has run, whether or not it has failed. Whatever is wrong here can only be said. */
export async function attestCall(
  command: Command,
  dialect: Dialect,
  call: ToolCall,
  patterns: readonly ToolPattern[],
): Promise<void> {
  const inputs_hash = sealInputs(call.input).hash;
  const note = await findNote(command, call);
  // Another hook may have made something else of a call that was approved.
  const isRewritten = note !== null && note.inputs_hash !== inputs_hash;
  if (!isRewritten && !needsHuman(patterns, call.tool, call.input)) return;
  const hook = await openHook(command, dialect, call);
  if (isRewritten) return attestUnapproved(hook, await describeCall(hook), note, "its arguments are others");
  const action = await describeCall(hook);
  const { request_id } = note ?? (await askForCall(hook, action)).request;
  let authorization: ApprovedAuthorization;
  try {
    ({ authorization } = await confirmApproval(hook.service, request_id, action, call.input));
    // A rule or a standing approval may have approved only what is asked here, after the tool ran.
    if (authorization.claimed_at === null)
      throw new CountersignError("nobody claimed it before the tool ran.");
  } catch (error) {
    // The same hook is registered twice, or the agent repeats the event.
    if (error instanceof ApprovalUsedError) return;
    if (error instanceof ApprovalRevokedError) {
      await attestRevoked(hook, action, { request_id, inputs_hash });
      return removeNote(command.io, note);
    }
    await cancel(hook, request_id);
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof ApiError || error instanceof ConnectionError)
      throw new CountersignError(`${call.tool} ran, and could not be attested: ${why}`);
    return attestUnapproved(hook, action, null, why);
  }
  const { public_url } = await attestRun(
    hook.service,
    action,
    authorization,
    null,
    call.outcome ?? "unknown",
  );
  await removeNote(command.io, note);
  command.io.tell(`Attested: ${public_url}\n`);
  print(command, dialect.writeNote(`Attested: ${public_url}`));
}

/** Attests an input that ran unapproved, and says so. Throws in any case: somebody must look at it. */
async function attestUnapproved(
  { service, call, command }: Hook,
  action: GatedAction,
  note: CallNote | null,
  why: string,
): Promise<never> {
  const { hash } = sealInputs(call.input);
  const approved = note && { approved_request: note.request_id, approved_inputs_hash: note.inputs_hash };
  const metadata = { ...action.attestation?.metadata, approval: "none", ...approved };
  const { agent_slug, action: text, attestation, agentKey } = action;
  const body = { ...attestation, agent_slug, action: text, inputs_hash: hash, metadata };
  const id = call.callId ?? service.randomUuid();
  const idempotencyKey = `hook-${canonicalHash([agent_slug, call.sessionId, id, hash])}`;
  const said = `${call.tool} ran, and this call has no approval to attest: ${why}`;
  const attested = await attest(service, body, { idempotencyKey, agentKey }).catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : String(error);
    throw new CountersignError(`${said} It could not be attested without one either: ${problem}`);
  });
  await removeNote(command.io, note);
  throw new CountersignError(
    `${said} Another hook may have changed the call. Attested as not approved: ${attested.public_url}`,
  );
}

/** Codex tells nothing of a call of an MCP server that failed, so that nobody knows how it ended. */
export async function attestForgotten(command: Command, dialect: Dialect, sessionId: string): Promise<void> {
  for (const note of await listNotes(command, sessionId)) {
    const { call_id: callId, tool, request_id, inputs_hash } = note;
    const call: ToolCall = { ...unknownEnd, sessionId, callId, tool };
    const hook = await openHook(command, dialect, call);
    const action = await describeCall(hook);
    const aboutToRun = { agent_slug: action.agent_slug, action: action.action, inputs_hash };
    try {
      const authorization = await requireApproval(hook.service, request_id, () => aboutToRun, {});
      const { public_url } = await attestRun(
        hook.service,
        action,
        authorization,
        null,
        call.outcome ?? "unknown",
      );
      command.io.tell(`Attested, with an outcome that nobody told: ${public_url}\n`);
    } catch (error) {
      if (error instanceof ApprovalRevokedError) await attestRevoked(hook, action, note);
      else if (!(error instanceof ApprovalUsedError)) throw error;
    }
    await removeNote(command.io, note);
  }
}

const unknownEnd = { outcome: "unknown", folder: undefined, input: null, isSubagent: false } as const;

/** The tool was allowed before the approval was taken back: that it ran is what must not get lost. */
async function attestRevoked(
  { service, command }: Hook,
  action: GatedAction,
  { request_id, inputs_hash }: Pick<CallNote, "request_id" | "inputs_hash">,
): Promise<void> {
  const state = { request_id, inputs_hash, agent_slug: action.agent_slug, action: action.action };
  const why = "taken back before the action ended";
  const { public_url } = await attestStopped(service, action, state, why, null);
  command.io.tell(`Attested without its approval, which was taken back: ${public_url}\n`);
}
