/** Guarantee: owners prove domains, daily checks keep or take them, and a request shows what is proven when it is made. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { AppError } from "#lib/errors";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { dayMs } from "#lib/protocol/time/time-words";
import type { Context } from "#lib/services/approvals/context";
import { deleteOrganization } from "#lib/services/portal/organization";
import { ask } from "#support/authorizations";
import { type DomainWorld, startDomainWorld } from "#support/domain-world";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { listAuditEvents } from "./audit-list";
import { addDomain, checkDomain, checkDueDomains, listDomains, removeDomain } from "./domains";

let world: DomainWorld;
beforeAll(async () => {
  world = await startDomainWorld();
});
afterAll(() => world.close());

describe("the domains of an organization", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  let days: number;
  let counter = 0;
  const start = Date.now();
  beforeAll(async () => {
    ({ context } = test.app);
    context.domainProbe = world.probe;
    context.clock = () => new Date(start + days * dayMs);
  });
  beforeEach(async () => {
    counter += 1;
    days = counter * 100;
    world.names.records.clear();
    owner = await signInPerson(context, `owner${counter}@example.com`);
  });

  const add = async (domain: string, person = owner) => {
    await addDomain(context, person, domain);
    const row = (await listDomains(context, person)).find((one) => one.domain === domain);
    if (!row) throw new Error(`${domain} is not in the list`);
    return row;
  };
  const tokenOf = ({ line }: { line: string }) => line.split("=")[1] ?? "";
  const prove = async (domain: string, person = owner) => {
    const added = await add(domain, person);
    world.publish(domain, tokenOf(added));
    return checkDomain(context, person, added.id);
  };
  const nextDay = async () => {
    days += 1;
    while ((await checkDueDomains(context)) > 0);
  };
  const audit = async () => {
    const { rows } = await listAuditEvents(context, owner, { kind: undefined, cursor: undefined, limit: 50 });
    return rows
      .filter(({ action }) => action.startsWith("domain."))
      .map(({ action, actor }) => [action, actor])
      .reverse();
  };
  const now = () => context.clock().toISOString();
  const shownOn = async (email: string) => {
    const { key } = await test.createKey(email);
    return (await ask(test, key, { agent_slug: `bot-${counter}` })).made.requested_by?.organization_domains;
  };

  it("are proven with their own token, and shown to approvers from then on", async () => {
    const added = await add("example.com");
    expect(await shownOn(owner.email)).toEqual([]);
    const before = await checkDomain(context, owner, added.id);
    expect([before.verifiedSince, before.problem]).toEqual([
      null,
      "DNS has no such TXT record; the file: HTTP 404",
    ]);
    world.publish("example.com", tokenOf(added));
    expect(await checkDomain(context, owner, added.id)).toMatchObject({
      verifiedSince: now(),
      foundIn: "dns",
      problem: null,
    });
    expect(await shownOn(owner.email)).toEqual([
      { domain: "example.com", unicode: "example.com", verified_since: now(), last_checked: now() },
    ]);
    expect((await audit()).sort()).toEqual([
      ["domain.added", owner.email],
      ["domain.verified", owner.email],
    ]);
  });

  it("may be proven by two organizations, each with its token, and neither with the other's", async () => {
    const other = await signInPerson(context, `other${counter}@example.com`);
    const [mine, theirs] = [await add("both.example.org"), await add("both.example.org", other)];
    expect(tokenOf(mine)).not.toBe(tokenOf(theirs));
    world.publish("both.example.org", tokenOf(mine));
    expect((await checkDomain(context, other, theirs.id)).verifiedSince).toBeNull();
    expect((await checkDomain(context, owner, mine.id)).verifiedSince).toBe(now());
    world.publish("both.example.org", tokenOf(theirs));
    expect((await checkDomain(context, other, theirs.id)).verifiedSince).toBe(now());
  });

  it("are checked every day, and lost for new requests on the third day without the token", async () => {
    const { verifiedSince } = await prove("lost.example.org");
    const [shown] = (await shownOn(owner.email)) ?? [];
    await nextDay();
    const [found] = (await shownOn(owner.email)) ?? [];
    expect(found).toMatchObject({ verified_since: verifiedSince, last_checked: now() });
    expect(await checkDueDomains(context)).toBe(0);
    world.names.records.clear();
    await nextDay();
    await nextDay();
    expect(await shownOn(owner.email)).toEqual([{ ...shown, last_checked: found?.last_checked }]);
    await nextDay();
    expect(await shownOn(owner.email)).toEqual([]);
    expect((await audit()).at(-1)).toEqual(["domain.lost", "domain check"]);
    const { messages } = (await test.call("GET", "/dev/mailbox")).body;
    const mails = messages.filter(({ to }: { to: string }) => to === owner.email);
    expect(mails.map(({ subject }: { subject: string }) => subject)).toEqual([
      "lost.example.org is no longer verified on Countersign",
    ]);
  });

  it("tell each owner that one is lost, also if another owner's mailbox refuses the mail", async () => {
    const second = await joinPerson(context, `second${counter}@example.com`, owner.organizationId, "owner");
    await prove("refused.example.org");
    world.names.records.clear();
    const { mailer } = context;
    const tried: string[] = [];
    context.mailer = {
      send: async ({ to }) => {
        tried.push(to);
        if (tried.length === 1) throw new AppError("service_unavailable", "mailbox unavailable");
      },
    };
    for (const _ of [1, 2, 3]) await nextDay();
    context.mailer = mailer;
    expect(tried.toSorted()).toEqual([owner.email, second.email]);
  });

  it("are the owners' to change, five at most, each once, and nobody else's", async () => {
    const first = await add("a.example.net");
    for (const domain of ["b", "c", "d", "e"]) await add(`${domain}.example.net`);
    await expect(add("f.example.net")).rejects.toThrow("an organization can have 5");
    await removeDomain(context, owner, first.id);
    await expect(add("b.example.net")).rejects.toThrow("is already in the list");
    await expect(add("co.uk")).rejects.toThrow("must be a domain that can be registered");
    const [held] = await listDomains(context, owner);
    const member = await joinPerson(context, `member${counter}@example.com`, owner.organizationId);
    const stranger = await signInPerson(context, `stranger${counter}@example.com`);
    expect(await listDomains(context, member)).toHaveLength(4);
    const change = [
      (person: MemberPrincipal) => checkDomain(context, person, held?.id ?? ""),
      (person: MemberPrincipal) => removeDomain(context, person, held?.id ?? ""),
    ];
    for (const attempt of [
      ...change,
      (person: MemberPrincipal) => addDomain(context, person, "g.example.net"),
    ])
      await expect(attempt(member)).rejects.toMatchObject({ errorName: "forbidden" });
    for (const attempt of change)
      await expect(attempt(stranger)).rejects.toMatchObject({ errorName: "not_found" });
    const elsewhere = { ...stranger, organizationId: owner.organizationId };
    await expect(listDomains(context, elsewhere)).rejects.toMatchObject({ errorName: "not_found" });
  });

  it("can be checked thirty times an hour", async () => {
    const { id } = await add("often.example.org");
    for (let times = 0; times < 30; times += 1) await checkDomain(context, owner, id);
    await expect(checkDomain(context, owner, id)).rejects.toMatchObject({ errorName: "rate_limit_exceeded" });
  });

  it("are gone, and checked no more, when they are removed or their organization is", async () => {
    const proven = await prove("removed.example.org");
    await prove("kept.example.org");
    await removeDomain(context, owner, proven.id);
    expect((await shownOn(owner.email))?.map(({ domain }) => domain)).toEqual(["kept.example.org"]);
    await deleteOrganization(context, owner, organizationTitle(null));
    await nextDay();
    const { rows } = await context.database.query(
      "SELECT 1 FROM organization_domains WHERE organization_id = $1",
      [owner.organizationId],
    );
    expect(rows).toEqual([]);
  });
});
