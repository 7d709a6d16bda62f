/** `countersign claim` and `countersign cancel`: of a request that was made before. */
import { single } from "#lib/core/text/command-words";
import { cancel, claim } from "./authorize";
import { type Command, connect, printResult, requireKey, requireWords } from "./command-io";

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
