/** `countersign claim`, `cancel` and `revoke`, of a request that was made before; `freeze` and `unfreeze`, of an agent. */

import { cancel, claim, revoke } from "#lib/client/api/authorize";
import { freeze, unfreeze } from "#lib/client/api/freeze";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { type Command, connect, printResult, requireKey, requireWords } from "./io";

export async function runClaim(command: Command): Promise<void> {
  const [requestId = ""] = requireWords(command, "request id");
  requireKey(command);
  const service = connect(command);
  const claimed = await claim(service, requestId, single(command.line, "run") ?? service.randomUuid());
  printResult(command, claimed, "Claimed. Run the action now, once.", [
    ["request", claimed.request_id],
    ["action", claimed.action],
    ["run", claimed.run],
    ["claimed", claimed.claimed_at],
  ]);
}

export async function runCancel(command: Command): Promise<void> {
  const [requestId = ""] = requireWords(command, "request id");
  requireKey(command);
  const cancelled = await cancel(connect(command), requestId);
  printResult(command, cancelled, "Cancelled.", [
    ["request", cancelled.request_id],
    ["action", cancelled.action],
  ]);
}

const reasonOf = ({ line }: Command) => ({ reason: single(line, "reason") });

export async function runRevoke(command: Command): Promise<void> {
  const [requestId = ""] = requireWords(command, "request id");
  requireKey(command);
  const revoked = await revoke(connect(command), requestId, reasonOf(command));
  printResult(command, revoked, "Taken back. Nothing can use this approval any more.", [
    ["request", revoked.request_id],
    ["action", revoked.action],
    ["taken back", revoked.revoked_at],
    ["note", revoked.claimed_at && `run ${revoked.run} claimed it before: its action may have begun`],
  ]);
}

export async function runFreeze(command: Command): Promise<void> {
  const [slug = ""] = requireWords(command, "agent");
  const { reason } = reasonOf(command);
  if (reason === undefined) throw new UsageError("why? Give --reason");
  requireKey(command);
  const frozen = await freeze(connect(command), slug, reason);
  printResult(
    command,
    frozen,
    "Frozen. Its requests can't be approved, and its approvals can't be claimed or used.",
    [
      ["agent", frozen.slug],
      ["frozen", frozen.frozen_at],
    ],
  );
}

export async function runUnfreeze(command: Command): Promise<void> {
  const [slug = ""] = requireWords(command, "agent");
  requireKey(command);
  const agent = await unfreeze(connect(command), slug, reasonOf(command));
  printResult(command, agent, "Unfrozen. The agent may go on.", [["agent", agent.slug]]);
}
