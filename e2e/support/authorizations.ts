/** For tests only: asks, opens and answers authorization requests as agents, the page and a wallet would. */

import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import type { AuthorizationState, AuthorizeResponse } from "#lib/api/schemas/authorization-state";
import { type LocalLevel, testHumans } from "#lib/emulators/prover";
import { LOCAL_APP_ID } from "#lib/emulators/world-id";
import { externalNullifier, hashSignal, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { acceptApproval, type ProvenApproval } from "#lib/services/approvals/decision/decide";
import { approvalUrl } from "#lib/services/approvals/rows";
import type { TestAnswer, TestApp } from "./app";
import { openProver } from "./shared-prover";

const prove = openProver();

export const fromPage = { "sec-fetch-site": "same-origin" };

/** Result as IDKit would hand it to the page: a real proof of that test human over the values in `start`. */
export async function makeResult(start: WorldIdStart, human: string, level: LocalLevel = "orb") {
  const known = testHumans.find(({ id }) => id === human);
  if (!known) throw new RangeError(`no test human ${human}`);
  const { proof, merkle_root, nullifier_hash } = await prove({
    human: known,
    level,
    externalNullifier: externalNullifier(LOCAL_APP_ID, start.action),
    signalHash: hashSignal(start.signal),
  });
  const response = { identifier: level, proof, merkle_root, nullifier: nullifier_hash };
  return {
    protocol_version: "3.0",
    nonce: start.rp_context.nonce,
    action: start.action,
    environment: start.environment,
    responses: [response],
  };
}

/** Result of a passed proof check, for tests of what follows: a real proof costs a second. */
export function provenBy(human: number, nonce: bigint): ProvenApproval {
  return {
    type: "world_id",
    protocol_version: "3.0",
    environment: "local",
    app_id: "app_test",
    rp_id: "rp_0000000000000001",
    nonce: wordHex(nonce),
    level: "orb",
    nullifier_hash: wordHex(BigInt(human) + 1000n),
    merkle_root: wordHex(5n),
    proof: `0x${"00".repeat(256)}`,
    verified_by: ["world-portal-v4"],
  };
}

let lastNonce = 0n;

/** Approved, without a proof that anybody could verify. */
export async function approveUnproven({ app }: TestApp, requestId: string): Promise<void> {
  lastNonce += 1n;
  await acceptApproval(app.context, requestId, { proof: provenBy(1, lastNonce), approver: null }, null);
}

export interface AskedRequest {
  made: AuthorizeResponse;
  token: string;
  /** `code`: what the person types, if it is not the one that the agent got. */
  start(code?: string): Promise<WorldIdStart>;
  submit(result: object): Promise<TestAnswer>;
  deny(reason?: string, code?: string): Promise<TestAnswer>;
  read(key?: string, query?: string): Promise<TestAnswer>;
  /** Opens World ID, makes a real proof and submits it. */
  approve(human: string, level?: LocalLevel): Promise<TestAnswer>;
}

export async function ask(
  test: Pick<TestApp, "call">,
  key: string,
  body: object = {},
): Promise<AskedRequest> {
  const asked = { agent_slug: "treasurer", action: "Pay 12,000 EUR to Example GmbH", ...body };
  const answer = await test.call("POST", "/v1/authorize", { key, body: asked });
  if (answer.status !== 201) throw new Error(`not asked: ${JSON.stringify(answer.body)}`);
  const made = answer.body as AuthorizeResponse;
  return { made, ...openRequest(test, made) };
}

/** A request that somebody has made. */
export function openRequest(
  test: Pick<TestApp, "call">,
  made: Pick<AuthorizeResponse, "approval_url" | "request_id"> & { confirmation_code?: string },
): Omit<AskedRequest, "made"> {
  const token = made.approval_url.split("/").at(-1) ?? "";
  const post = (what: string, sent: object) =>
    test.call("POST", `/approve/${token}/${what}`, { headers: fromPage, body: sent });
  const start = async () => {
    const opened = await post("world-id", { code: made.confirmation_code });
    if (opened.status !== 200) throw new Error(`not opened: ${JSON.stringify(opened.body)}`);
    return opened.body as WorldIdStart;
  };
  return {
    token,
    start,
    submit: (result) => post("proof", result),
    deny: (reason, code = made.confirmation_code) => post("deny", { reason, code }),
    read: (readerKey, query = "") =>
      test.call(
        "GET",
        `/v1/authorize/${made.request_id}${query}`,
        readerKey === undefined ? {} : { key: readerKey },
      ),
    approve: async (human, level = "orb") => post("proof", await makeResult(await start(), human, level)),
  };
}

/** The request that a program in another process makes, as soon as it is there. */
export async function openNext(
  test: TestApp,
  key: string,
  agentSlug?: string,
  pauseMs = 150,
): Promise<Omit<AskedRequest, "made"> & { requestId: string; context: Record<string, string> }> {
  const query = agentSlug === undefined ? "" : `&agent_slug=${agentSlug}`;
  for (;;) {
    const { body } = await test.call("GET", `/v1/authorizations?status=pending${query}`, { key });
    const [asked] = body.authorizations as AuthorizationState[];
    if (asked !== undefined) {
      const { request_id, context = {}, confirmation_code = "" } = asked;
      const approval_url = approvalUrl(test.app.context, request_id);
      const opened = openRequest(test, { request_id, approval_url, confirmation_code });
      return { ...opened, requestId: request_id, context };
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** An approval that could be used for a while can't be any more. */
export async function endApproval(test: TestApp, id: string): Promise<void> {
  await test.app.context.database.query(
    "UPDATE authorization_requests SET usable_until = clock_timestamp() - interval '1 second' WHERE id = $1",
    [id],
  );
}

export async function expireRequest(test: TestApp, id: string): Promise<void> {
  await test.app.context.database.query(
    "UPDATE authorization_requests SET expires_at = clock_timestamp() WHERE id = $1",
    [id],
  );
}
