/** Places of the portal and of a receipt where what an agent or a key's holder wrote is among other words. */
import { AppRouterContext } from "next/dist/shared/lib/app-router-context.shared-runtime";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { FreezeCard } from "./portal/agents/freeze-card";
import { AuthorizationFacts } from "./portal/approvals/authorization-facts";
import { type KeyRow, KeyTable } from "./portal/keys/key-table";
import { PortalFrame, PortalPage } from "./portal/organization/shown-organization";
import { RequestFilterForm } from "./portal/requests/request-filters";
import { CodeBlock } from "./ui/code-block";
import { HumanApprovalPart } from "./verify/human-approval";

const words = "Pay \u202e00.1";
const at = "2026-11-22T10:00:00.000Z";
const never = async (): Promise<never> => Promise.reject(new Error("not here"));

const key: KeyRow = {
  id: "k",
  name: words,
  email: "a@example.com",
  shownAs: "cs_",
  scopes: [],
  isTest: false,
  attestationsPerDay: null,
  state: "revoked",
  createdAt: at,
  lastUsedAt: null,
  lastUsedFrom: null,
  expiresAt: null,
  revokedAt: at,
};
const takenBack = {
  request_id: "areq_1",
  agent_slug: "bot",
  action: "Pay",
  required_level: "device",
  status: "approved",
  approvals: { required: 1, given: 1 },
  created_at: at,
  expires_at: at,
  decided_at: at,
  deciders: [],
  revoked_at: at,
  revocation_reason: words,
} as unknown as Parameters<typeof AuthorizationFacts>[0]["state"];
const answer = {
  valid: true,
  human_approved: true,
  human_authorization: { request: { action: words } },
  human_approval: {
    method: "proof_of_personhood",
    level: "orb",
    request_hash: "r",
    nullifier_hashes: [],
    approver_ids: [],
    environment: "production",
    inputs_bound: true,
  },
} as unknown as VerifyResponse;

const places: [string, ReactNode][] = [
  [
    "the reason of a freeze",
    <FreezeCard
      key=""
      slug="a"
      frozenAt={null}
      stops={[{ isFrozen: true, at, reason: words }]}
      freeze={never}
      unfreeze={never}
    />,
  ],
  ["the reason of a revocation", <AuthorizationFacts key="" state={takenBack} end={null} />],
  [
    "an authorization as it was issued",
    <HumanApprovalPart key="" answer={answer} isTest={false} approvalMethod="proof_of_personhood" />,
  ],
  ["code that an agent's words are in", <CodeBlock key="" code={words} label="payload" isAgents />],
  [
    "a key's name, also in its labels",
    <KeyTable key="" rows={[key]} usage={new Map()} actions={() => null} empty={null} />,
  ],
  [
    "a key's name as a choice",
    <RequestFilterForm key="" filters={{}} keys={[{ id: "k", name: words }]} isFiltered={false} />,
  ],
];

describe("hidden characters are marked in", () => {
  it.each(places)("%s", (_place, node) => {
    const html = renderToStaticMarkup(
      <AppRouterContext value={{ refresh: () => {} } as never}>
        <PortalFrame organizationId="o">
          <PortalPage organizationId="o">{node}</PortalPage>
        </PortalFrame>
      </AppRouterContext>,
    );
    expect(html).toContain("U+202E");
    expect(html).not.toContain("\u202e");
  });
});
