/** Shared by the specs of the public pages: attestations of every kind, made over the API as an agent would. */
import { type APIRequestContext, expect, type Page } from "@playwright/test";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import { makeResult } from "./support/authorizations";

/** Each worker has an account of its own, also one that tries a test again, and none can use another's slugs. */
export const run = `${Date.now().toString(36)}-${process.env["TEST_WORKER_INDEX"] ?? 0}`;
export const pageBot = `page-bot-${run}`;

export const inputsHash = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** Opens what a receipt folds: the checks and the evidence. */
export const unfold = (page: Page) =>
  page.locator("details.folded").evaluateAll((all) => {
    for (const one of all) (one as HTMLDetailsElement).open = true;
  });

export interface Made {
  attestation_id: string;
  public_url: string;
  payload: string;
  key_id: string;
  log: { index: number };
}

export async function attest(
  request: APIRequestContext,
  key: string,
  fields: Record<string, unknown> = {},
): Promise<Made> {
  const answer = await request.post("/v1/attest", {
    headers: { authorization: `Bearer ${key}` },
    data: { agent_slug: pageBot, action: "Paid invoice 1042", inputs_hash: inputsHash, ...fields },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return (await answer.json()) as Made;
}

/** Asks, approves as these test humans with real proofs, and gives the authorization. */
export async function authorize(
  request: APIRequestContext,
  key: string,
  fields: Record<string, unknown>,
  humans: readonly string[],
): Promise<object> {
  const asked = await request.post("/v1/authorize", {
    headers: { authorization: `Bearer ${key}` },
    data: { ...fields, approvals_required: humans.length },
  });
  expect(asked.status(), await asked.text()).toBe(201);
  const { approval_url: link, poll_url: poll } = (await asked.json()) as Record<string, string>;
  const headers = { "sec-fetch-site": "same-origin", origin: new URL(link ?? "").origin };
  for (const human of humans) {
    const opened = await request.post(`${link}/world-id`, { headers, data: {} });
    expect(opened.status(), await opened.text()).toBe(200);
    const result = await makeResult((await opened.json()) as WorldIdStart, human);
    const sent = await request.post(`${link}/proof`, { headers, data: result });
    expect(sent.status(), await sent.text()).toBe(200);
  }
  const { human_authorization: authorization } = (await (await request.get(poll ?? "")).json()) as {
    human_authorization?: object;
  };
  if (authorization === undefined) throw new Error("the request was not approved");
  return authorization;
}

/** Every field that takes text, with what an attacker would put there; `window.pwned` says whether anything ran. */
export const hostileFields = {
  agent_slug: `hostile-bot-${run}`,
  action:
    '<script>window.pwned=1</script><img src=x onerror="window.pwned=1"> [x](javascript:alert(1)) pay \u202e001\u202c EUR\n\u200bto p\u0430ypal',
  inputs_hash: '"><svg onload=window.pwned=1>',
  model_id: "model\u2066</title><script>window.pwned=1</script>",
  tools_used: ["</script><script>window.pwned=1</script>", "\u00adtool"],
  code_hash: "'\"><script>window.pwned=1</script>",
  metadata: {
    "<b>\u202ename": "javascript:window.pwned=1",
    nested: { deep: "\u0007<style>*{display:none}</style>" },
  },
  human_approved: true,
  human_approver_hash: "<iframe srcdoc='<script>parent.pwned=1</script>'>",
};
