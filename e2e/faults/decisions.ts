/** Requests for approval under faults: denied, cancelled, or approved with a real proof, and then used. */
import { setTimeout as sleep } from "node:timers/promises";
import { fromPage, makeResult } from "#support/authorizations";
import { slugOf } from "#support/load";
import { type Heard, isUnknown } from "./clients";
import type { Decision } from "./ledger";
import { anywhere, attestOnce, describeAttestation, isKeyTaken, type Work } from "./operations";

const testHumans = ["ada", "grace"] as const;

interface Asked {
  id: string;
  token: string;
  agentSlug: string;
  action: string;
}

let last = 0;

/** Sent until it is answered, under one key; null if the load ends before. */
async function askForApproval(work: Work): Promise<Asked | null> {
  last += 1;
  const body = { agent_slug: slugOf(last), action: `approve-${last}` };
  const headers = { "idempotency-key": body.action };
  while (work.isOn()) {
    const heard = await work.client.call(anywhere(work), "POST", "/v1/authorize", {
      key: work.key,
      body,
      headers,
    });
    const isTaken = isKeyTaken(work, body.action, heard);
    if (!isTaken && work.client.judge("authorize", heard, [201])) {
      const { request_id: id, approval_url } = heard.body;
      work.ledger.authorizations.add(id);
      return { id, token: approval_url.split("/").at(-1), agentSlug: body.agent_slug, action: body.action };
    }
    if (!isUnknown(heard) && !isTaken) return null;
    await sleep(100);
  }
  return null;
}

/** 409: it was decided before. 429: proofs that came before are still to be checked, by whoever outlives its process. */
function noteDecision(work: Work, { id }: Asked, decision: Decision, heard: Heard): void {
  if (!work.client.judge(decision, heard, [200, 409, 429]) || heard.status !== 200) return;
  const known = work.ledger.decisions.get(id) ?? new Set();
  work.ledger.decisions.set(id, known.add(decision));
}

/** To whichever instance is alive, with the page's own header. */
function fromApprovalPage(work: Work, { token }: Asked, what: string, body: object): Promise<Heard> {
  const base = anywhere(work);
  return work.client.call(base, "POST", `/approve/${token}/${what}`, { headers: fromPage, body });
}

async function deny(work: Work, asked: Asked): Promise<void> {
  noteDecision(work, asked, "denied", await fromApprovalPage(work, asked, "deny", {}));
}

async function cancel(work: Work, asked: Asked): Promise<void> {
  const target = `/v1/authorize/${asked.id}`;
  noteDecision(
    work,
    asked,
    "cancelled",
    await work.client.call(anywhere(work), "DELETE", target, { key: work.key }),
  );
}

async function readState(work: Work, { id }: Asked): Promise<Heard["body"] | null> {
  const heard = await work.client.call(anywhere(work), "GET", `/v1/authorize/${id}`, { key: work.key });
  return work.client.judge("read", heard, [200]) ? heard.body : null;
}

/** Denied by one and cancelled by another at once: one of them decides. */
export async function runRefusals(work: Work, pauseMs: number): Promise<void> {
  while (work.isOn()) {
    const asked = await askForApproval(work);
    if (asked !== null) {
      await Promise.all(
        work.chance.next() < 0.5 ? [deny(work, asked), cancel(work, asked)] : [deny(work, asked)],
      );
      await cancelUntilDecided(work, asked);
    }
    await sleep(work.chance.next() * pauseMs);
  }
}

/** So that none is left over, of which only so many may wait. */
async function cancelUntilDecided(work: Work, asked: Asked): Promise<void> {
  while (work.isOn()) {
    const state = await readState(work, asked);
    if (state !== null && state.status !== "pending") return;
    await cancel(work, asked);
    await sleep(50);
  }
}

/** The same proof twice at once, and sometimes a denial beside it. */
async function prove(work: Work, asked: Asked): Promise<void> {
  const opened = await fromApprovalPage(work, asked, "world-id", {});
  if (!work.client.judge("world-id", opened, [200, 409]) || opened.status !== 200) return;
  const result = await makeResult(opened.body, work.chance.pick(testHumans));
  const submit = async () =>
    noteDecision(work, asked, "approved", await fromApprovalPage(work, asked, "proof", result));
  await Promise.all([submit(), submit(), ...(work.chance.next() < 0.1 ? [deny(work, asked)] : [])]);
}

/** Sends the attestation that the approval backs three times, and again until one of them or another has it. */
async function spendApproval(work: Work, asked: Asked, human_authorization: unknown): Promise<void> {
  const sent = describeAttestation(work, "approved", asked.id);
  sent.action = asked.action;
  const body = { agent_slug: asked.agentSlug, human_authorization };
  const key = { "idempotency-key": `use-${asked.id}` };
  const once = () => attestOnce(work, sent, { body });
  const known = await Promise.all([once(), once(), attestOnce(work, sent, { body, headers: key })]);
  for (let isKnown = known.some(Boolean); !isKnown && work.isOn(); ) {
    await sleep(100);
    isKnown = await once();
  }
}

export async function runApprovals(work: Work, pauseMs: number): Promise<void> {
  while (work.isOn()) {
    const asked = await askForApproval(work);
    while (asked !== null && work.isOn()) {
      const state = await readState(work, asked);
      if (state?.status === "pending") await prove(work, asked);
      else if (state?.status === "approved") await spendApproval(work, asked, state.human_authorization);
      if (state !== null && state.status !== "pending") break;
      await sleep(200);
    }
    await sleep(work.chance.next() * pauseMs);
  }
}
