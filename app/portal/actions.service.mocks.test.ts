/**
 * Guarantee: what is done on a page is done for the organization that the page shows. Every server action and every
 * route of the portal is found by itself, so that a new one cannot forget it.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { type FormState, shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { roleNames, secondFactors } from "#lib/api/schemas/key-choices";
import { AppError } from "#lib/errors";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { acceptInvitation, inviteMember } from "#lib/services/accounts/invitations";
import { listNoticeSettings } from "#lib/services/accounts/mails";
import { type Act, acts, needsPasskey } from "#lib/services/accounts/members";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import * as firstPasskey from "./(account)/first-passkey-actions";
import { saveNotices } from "./(account)/inbox/actions";
import { requestLink } from "./sign-in/actions";

const browser = vi.hoisted(() => ({
  cookies: new Map<string, string>(),
  origin: "http://localhost:3000",
  session: null as { userId: string; email: string; label: string } | null,
  mail: async () => {},
}));
vi.mock("next/headers", () => ({
  headers: async () => new Headers({ origin: browser.origin }),
  cookies: async () => ({
    get: (name: string) => ({ name, value: browser.cookies.get(name) }),
    set: (name: string, value: string) => browser.cookies.set(name, value),
  }),
}));
vi.mock("next/navigation", () => ({
  redirect: (to: string) => {
    throw new Error(`redirected to ${to}`);
  },
  notFound: () => {
    throw new Error("not found");
  },
}));
vi.mock("next/cache", () => ({ revalidatePath: () => {} }));
vi.mock("#lib/server/pages/session", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  readSession: async () => browser.session,
  endSession: async () => {},
  requestSignInLink: () => browser.mail(),
  completeSignIn: async () => new Response(),
}));

type Action = (state: FormState<unknown>, form: FormData) => Promise<FormState<unknown>>;

/** For nobody's organization, or for one that the form itself names. */
const elsewhere = new Set([
  "(account)/actions.ts signOut",
  "(account)/actions.ts switchOrganization",
  "(account)/inbox/actions.ts saveNotices",
  // Actions that name the approver or the request's link, covered by deputies.service.test.ts and notices.service.test.ts.
  ...["saveDeputy", "removeDeputy", "look"].map((name) => `(account)/inbox/actions.ts ${name}`),
  // Actions that name the approver; passkey-access.service.test.ts tests whose it may be.
  ...["begin", "finish", "rename", "remove"].map((name) => `(account)/inbox/passkey-actions.ts ${name}`),
  // The route names the approver too.
  "(account)/inbox/devices/[approver]/route.ts POST",
  // Actions that answer as passkeys' actions do; the organization is checked below.
  ...["begin", "finish", "beginConfirming", "confirm"].map(
    (name) => `(account)/first-passkey-actions.ts ${name}`,
  ),
  "invitations/[token]/actions.ts requestLink",
  "invitations/[token]/actions.ts accept",
  "invitations/[token]/actions.ts signOut",
  "sign-in/actions.ts requestLink",
  "sign-in/actions.ts signOut",
  "sign-in/oidc/route.ts GET",
  "sign-in/verify/route.ts POST",
]);

const folder = import.meta.dirname;
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
  /\.tsx?$/.test(file),
);
const isAction = (file: string) =>
  readFileSync(path.join(folder, file), "utf8").trimStart().startsWith('"use server"');

async function exportsOf(wanted: string[]): Promise<[string, Action][]> {
  const modules = wanted.map(async (file) => {
    const module = (await import(path.join(folder, file))) as Record<string, Action>;
    return Object.entries(module).map(([name, run]): [string, Action] => [`${file} ${name}`, run]);
  });
  return (await Promise.all(modules)).flat().filter(([name]) => !elsewhere.has(name));
}

/** With parameters for those whose path has some. */
const answerRoute = (handler: unknown, request: Request) =>
  (handler as (request: Request, context: object) => Promise<Response>)(request, {
    params: Promise.resolve({ id: "01999999-9999-7999-8999-999999999999" }),
  });

const actions = await exportsOf(files.filter(isAction));
const routes = await exportsOf(files.filter((file) => path.basename(file) === "route.ts"));

const { test } = setupTestApp();
let person: MemberPrincipal;
let invitedTo: string;

beforeAll(async () => {
  const { context } = test.app;
  person = await signInPerson(context, "both@example.com");
  const other = await signInPerson(context, "other@example.com");
  await inviteMember(context, other, { email: person.email, role: "owner" });
  const [mail] = await listMailbox(context.database);
  await acceptInvitation(context, person, /invitations\/(\S+)/.exec(mail?.text ?? "")?.[1] ?? "");
  invitedTo = other.organizationId;
});
beforeEach(() => {
  browser.session = { userId: person.userId, email: person.email, label: "sess_test" };
  browser.cookies.set("countersign-organization", invitedTo);
});

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
const idle = { status: "idle", message: "", errors: {}, values: {}, result: null } as const;

/** Their form is a button: what they find instead is that the organization lacks a key. */
const withoutFields = [
  ["sendAttestation", "Create a key with the permission “attest” first."],
  ["askForApproval", "Create a key with the permission “authorize” first."],
  // To keep content, to end a hold that is none, and no box that is checked, are choices too.
  ["saveRetention", "Content is kept until somebody erases it."],
  ["endHold", "Content is kept until somebody erases it."],
  [
    "saveSecondFactor",
    "Your organization asks for a passkey here: press “Confirm with a passkey” at the top of the page, then try again.",
  ],
] as const;

it("finds the portal's actions and routes, and no action inside a page", () => {
  expect(actions.map(([name]) => name)).toContain("(account)/settings/actions.ts endOrganization");
  expect(actions.length).toBeGreaterThanOrEqual(18);
  expect(routes.map(([name]) => name).sort()).toEqual([
    "(account)/approvers/attention/export/route.ts GET",
    "(account)/attestations/[id]/opened/route.ts POST",
    "(account)/attestations/export/route.ts GET",
    "(account)/audit/export/route.ts GET",
    "(account)/evidence/pack/route.ts POST",
    "(account)/search/route.ts GET",
  ]);
  const inline = files.filter(
    (file) =>
      !isAction(file) && /^\s+["']use server["']/m.test(readFileSync(path.join(folder, file), "utf8")),
  );
  expect(inline).toEqual([]);
});

/** Act of each action and route, by its name or its file's. */
const actOf: Record<string, Act> = {
  freeze: "freeze",
  limitKey: "limit",
  eraseContent: "erase",
  saveRetention: "erase",
  beginHold: "erase",
  endHold: "erase",
  saveName: "settings",
  saveOrganization: "settings",
  saveRequester: "settings",
  remove: "members",
  "(account)/settings/actions.ts remove": "read",
  endOrganization: "security",
  review: "stop",
  saveRates: "rules",
  saveSecondFactor: "security",
  cancelRequest: "stop",
  takeBack: "stop",
  answer: "operate",
  changeRules: "rules",
  confirmChange: "rules",
  dropChange: "rules",
  "(account)/approvers/actions.ts": "members",
  "(account)/approvers/attention/actions.ts": "members",
  "(account)/settings/actions.ts": "members",
  "(account)/settings/domain-actions.ts": "settings",
  "(account)/agents/[slug]/actions.ts": "operate",
  "(account)/agents/new/actions.ts": "operate",
  "(account)/attestations/[id]/actions.ts": "operate",
  makeReceiptLink: "take_out",
  makePackLink: "take_out",
  revokeLink: "take_out",
  "(account)/first-steps-actions.ts": "operate",
  "(account)/keys/actions.ts": "operate",
  "(account)/rules/suggestions/actions.ts": "rules",
  "(account)/webhooks/actions.ts": "operate",
  "(account)/webhooks/[id]/actions.ts": "operate",
  "(account)/approvers/attention/export/route.ts": "take_out",
  "(account)/attestations/[id]/opened/route.ts": "take_out",
  "(account)/attestations/export/route.ts": "take_out",
  "(account)/audit/export/route.ts": "take_out",
  "(account)/evidence/pack/route.ts": "take_out",
  "(account)/search/route.ts": "read",
};
function findAct(name: string): Act {
  const [file = "", own = ""] = name.split(" ");
  const act = actOf[name] ?? actOf[own] ?? actOf[file];
  if (act === undefined) throw new Error(`no act is listed for ${name}`);
  return act;
}

describe("roles", () => {
  const set = (column: string, table: string, value: unknown) =>
    test.app.context.database.query(
      `UPDATE ${table} SET ${column} = $1 WHERE ${table === "organizations" ? "id" : `user_id = '${person.userId}' AND organization_id`} = $2`,
      [value, invitedTo],
    );
  /** True for actions that say such a refusal first. */
  const refusals = async (pattern: RegExp) => {
    const said = actions.map(async ([name, action]) => {
      const { message } = await action(idle, formOf({ [shownOrganizationField]: invitedTo }));
      return [name, pattern.test(message)] as const;
    });
    return Object.fromEntries(await Promise.all(said));
  };
  const expected = (isRefused: (act: Act) => boolean) =>
    Object.fromEntries(actions.map(([name]) => [name, isRefused(findAct(name))]));
  afterAll(() => set("role", "memberships", "owner"));

  it.each(roleNames)("lets the role %s do what its column says and nothing else", async (role) => {
    await set("role", "memberships", role);
    const mayNot = (act: Act) => !(acts[act] as readonly string[]).includes(role);
    expect(
      await refusals(new RegExp(`^Only an? owner.* can do this, and your role is ${role}: ask an owner`)),
    ).toEqual(expected(mayNot));
    for (const [name, handler] of routes) {
      const fields = {
        [shownOrganizationField]: invitedTo,
        format: "csv",
        agent: "x",
        from: "2026-01-01",
        until: "2026-01-02",
        opening: "all",
      };
      const url = "http://localhost:3000/portal/x";
      const headers = { origin: "http://localhost:3000" };
      const request = name.endsWith(" POST")
        ? new Request(url, { method: "POST", headers, body: formOf(fields) })
        : new Request(`${url}?${new URLSearchParams(fields)}`);
      const answer = await answerRoute(handler, request);
      expect([name, answer.status === 403]).toEqual([name, mayNot(findAct(name))]);
      expect([name, /your role is/.test(await answer.text())]).toEqual([name, mayNot(findAct(name))]);
    }
  });

  it.each(roleNames)("shows every page to the role %s, and asks for no passkey to read", async (role) => {
    await set("role", "memberships", role);
    await set("second_factor", "organizations", secondFactors);
    const pages = files.filter((file) => /^\(account\)\/(?:.*\/)?page\.tsx$/.test(file));
    expect(pages.length).toBeGreaterThan(15);
    for (const file of pages) {
      const { default: page } = await import(path.join(folder, file));
      const given = {
        params: Promise.resolve({ id: person.userId, slug: "x" }),
        searchParams: Promise.resolve({}),
      };
      const shown = await page(given).then(
        () => "shown",
        ({ message }: Error) => message,
      );
      expect([file, shown]).toEqual([file, file.includes("[") ? "not found" : "shown"]);
    }
    await set("second_factor", "organizations", []);
  });

  it.each(secondFactors)("asks for a passkey where the organization asks one for %s", async (factor) => {
    await set("second_factor", "organizations", [factor]);
    for (const role of ["owner", "member"] as const) {
      await set("role", "memberships", role);
      const asks = (act: Act) =>
        (acts[act] as readonly string[]).includes(role) && needsPasskey([factor], role, act);
      expect(await refusals(/^Your organization asks for a passkey here/)).toEqual(expected(asks));
      expect(Object.values(expected(asks)).some(Boolean)).toBe(role === "owner" || factor === "freeze");
    }
    await set("second_factor", "organizations", []);
  });
});

describe.each(actions)("%s", (name, action) => {
  it("does nothing for a page of another organization, or for one that names none", async () => {
    for (const shown of [
      { [shownOrganizationField]: person.organizationId },
      { [shownOrganizationField]: "" },
      {},
    ]) {
      const state = await action(idle, formOf({ ...shown, name: "typed" }));
      expect(state).toMatchObject({ status: "failed", message: switchedOrganization, result: null });
      expect(state.values["name"]).toBe("typed");
    }
  });

  it("answers in words if it gets no form", async () => {
    for (const given of [undefined, null, 1, "x", {}, []])
      expect(await action(idle, given as never)).toMatchObject({
        status: "failed",
        message: "The form arrived incomplete. Reload the page and try again.",
      });
  });

  it("looks at the form of a page of the chosen organization", async () => {
    const state = await action(idle, formOf({ [shownOrganizationField]: invitedTo }));
    const found = withoutFields.find(([end]) => name.endsWith(end))?.[1] ?? "Some fields were not accepted.";
    const status = /(?:saveRetention|endHold)$/.test(name) ? "done" : "failed";
    expect([state.status, state.message]).toEqual([status, found]);
  });
});

it("adds the first passkey to the organization that the page shows, and to no other", async () => {
  for (const shown of [person.organizationId, "", undefined as never]) {
    const said = { ok: false, message: switchedOrganization };
    expect(await firstPasskey.begin(shown)).toEqual(said);
    expect(await firstPasskey.finish(shown, "Laptop", {})).toEqual(said);
    expect(await firstPasskey.beginConfirming(shown)).toEqual(said);
    expect(await firstPasskey.confirm(shown, {})).toEqual(said);
  }
  const approvers = async () =>
    (await test.query("SELECT organization_id AS id FROM approvers WHERE email = $1", [person.email])).rows;
  expect(await approvers()).toEqual([]);
  expect(await firstPasskey.begin(invitedTo)).toMatchObject({
    ok: true,
    value: { challenge: expect.any(String) },
  });
  expect(await approvers()).toEqual([{ id: invitedTo }]);
});

it("says in the form why a receipt can't be opened, and shows no page that isn't there", async () => {
  const makeLink = actions.find(([name]) => name.endsWith(" makeReceiptLink"))?.[1];
  const { key } = await test.createKey("other@example.com");
  const body = { agent_slug: "opened-bot", action: "Pay", inputs_hash: `sha256:${"a".repeat(64)}` };
  const { body: made } = await test.call("POST", "/v1/attest", { key, body });
  const link = (attestation_id: string) =>
    makeLink?.(
      idle,
      formOf({ [shownOrganizationField]: invitedTo, attestation_id, opening: "payee", days: "30" }),
    );
  expect(await link(String(made["attestation_id"]))).toMatchObject({
    status: "failed",
    message: expect.stringContaining("can't be opened alone"),
  });
  await expect(link("01999999-9999-7999-8999-999999999999")).rejects.toThrow("not found");
});

it("deletes the organization that the page shows, and not the one chosen since in another tab", async () => {
  const endOrganization = actions.find(([name]) => name.endsWith(" endOrganization"))?.[1];
  const ids = async () =>
    (await test.query("SELECT id FROM organizations WHERE deleted_at IS NULL", [])).rows.map(
      (row) => row["id"],
    );
  const form = formOf({
    [shownOrganizationField]: person.organizationId,
    confirmation: organizationTitle(null),
  });
  expect(await endOrganization?.(idle, form)).toMatchObject({ message: switchedOrganization });
  expect(new Set(await ids())).toEqual(new Set([person.organizationId, invitedTo]));
  form.set(shownOrganizationField, invitedTo);
  await expect(endOrganization?.(idle, form)).rejects.toThrow("redirected to /portal/sign-in");
  expect(await ids()).toEqual([person.organizationId]);
});

it("changes which emails a person gets for the organization that the form names, from our own pages only", async () => {
  const own = person.organizationId;
  const form = formOf({ organization_id: own, requests: "all", decisions: "on" });
  const settings = async () =>
    (await listNoticeSettings(test.app.context, person)).find((one) => one.organizationId === own);
  browser.origin = "https://evil.example";
  expect(await saveNotices(idle, form)).toMatchObject({ status: "failed" });
  browser.origin = "http://localhost:3000";
  expect(await settings()).toMatchObject({ requests: "named", decisions: false });
  expect(await saveNotices(idle, form)).toMatchObject({ status: "done" });
  expect(await settings()).toMatchObject({ requests: "all", decisions: true, reminders: false });
});

it("says in words that rules were compared and not saved, where the focus goes; and of saved ones what is easily passed", async () => {
  const saveRules = actions.find(([name]) => name.startsWith("(account)/rules/actions.ts"))?.[1];
  const fields = { text: "", mode: "log_only", fallback: "ask", version: "0", intent: "compare" };
  const shown = { [shownOrganizationField]: person.organizationId };
  expect(await saveRules?.(idle, formOf({ ...shown, ...fields }))).toMatchObject({
    status: "done",
    message: "Compared. Nothing was saved.",
    values: fields,
  });
  const text = '@id("no") forbid (principal, action, resource == Tool::"wire");';
  expect(
    await saveRules?.(idle, formOf({ ...shown, ...fields, text, mode: "enforce", intent: "save" })),
  ).toMatchObject({
    message: "Rules saved.",
    result: {
      warnings: [{ message: expect.stringContaining('applies only if “resource == Tool::"wire"”: a') }],
    },
  });
});

it("says in a sentence what to do about a session that has ended, and keeps what was entered", async () => {
  browser.session = null;
  for (const [name, action] of actions) {
    const state = await action(idle, formOf({ [shownOrganizationField]: invitedTo, name: "typed" }));
    expect(state, name).toMatchObject({ status: "failed", values: { name: "typed" } });
    expect(state.message, name).toMatch(
      /^Your session has ended. Sign in again in another tab, then try again/,
    );
  }
});

it("answers in words if what should be a sign-in form is none", async () => {
  expect(await requestLink(idle, "x" as never)).toMatchObject({ status: "failed" });
});

it("says on the sign-in form that mail is out of reach, and keeps the address", async () => {
  const detail = "the mail could not be sent; try again shortly";
  browser.mail = () => Promise.reject(new AppError("service_unavailable", detail));
  const state = await requestLink(idle, formOf({ email: "someone@example.com" }));
  browser.mail = async () => {};
  expect(state).toMatchObject({
    status: "failed",
    message: "The mail could not be sent; try again shortly.",
    values: { email: "someone@example.com" },
  });
});

it("takes a link that was never mailed for a used one, and asks nobody about it", async () => {
  const { POST } = await import("./sign-in/verify/route");
  const send = (fields: Record<string, string>) => {
    const form = formOf(fields);
    const headers = { origin: "http://localhost:3000" };
    return POST(new Request("http://localhost:3000/portal/x", { method: "POST", headers, body: form }));
  };
  const email = "a@example.com";
  for (const fields of [{ email }, { token: "x" }, { token: "x", email: "a\0@example.com" }]) {
    const answer = await send(fields);
    expect([answer.status, answer.headers.get("location")]).toEqual([
      303,
      "/portal/sign-in?error=Verification",
    ]);
  }
  expect((await send({ token: "x", email })).status).toBe(200);
});

describe.each(routes)("%s", (name, handler) => {
  const isForm = name.endsWith(" POST");
  const isPack = name.includes("/pack/");
  const ask = async (fields: Record<string, string>, origin = "http://localhost:3000") => {
    const url = "http://localhost:3000/portal/x";
    const request = isForm
      ? new Request(url, { method: "POST", headers: { origin }, body: formOf(fields) })
      : new Request(`${url}?${new URLSearchParams(fields)}`);
    const answer = await answerRoute(handler, request);
    return [answer.status, await answer.text()] as const;
  };
  beforeEach(() => browser.cookies.set("countersign-organization", person.organizationId));

  it("answers for the organization that the page shows, or in words", async () => {
    for (const fields of [{}, { [shownOrganizationField]: invitedTo }])
      expect(await ask({ format: "csv", ...fields })).toEqual([
        409,
        isForm ? expect.stringContaining(switchedOrganization) : `${switchedOrganization}\n`,
      ]);
    const [status] = await ask({ format: "csv", [shownOrganizationField]: person.organizationId });
    expect(status).toBe(isForm ? 422 : 200);
  });

  it.runIf(isPack)("says on a page what is wrong, and leads back to the form as it was filled", async () => {
    const shown = { [shownOrganizationField]: person.organizationId };
    const asked = { from: "2026-01-03", until: "2026-01-02", agent: "nobody" };
    const read = async (fields: Record<string, string>) => {
      const [status, page] = await ask({ ...shown, ...fields });
      const words = page.match(/<p>(.*?)<\/p>/)?.[1];
      return [status, words, page.match(/<a href="([^"]*)"/)?.[1]?.replaceAll("&#38;", "&")];
    };
    const filled = "/portal/evidence?agent=nobody&from=2026-01-03&until=2026-01-02&private=";
    expect(await read(asked)).toEqual([422, "Until must not be before the first day.", `${filled}off`]);
    expect(await read({ ...asked, from: "2026-01-01", private: "on" })).toEqual([
      404,
      "No agent has this slug.",
      `${filled.replace("03", "01")}on`,
    ]);
    browser.session = null;
    expect((await read(asked)).slice(0, 2)).toEqual([401, "Your session has ended. Sign in again."]);
  });

  it.runIf(isPack)("answers 400 to a form that can't be read", async () => {
    const headers = {
      origin: "http://localhost:3000",
      "content-type": "multipart/form-data; boundary=x",
    };
    const request = new Request("http://localhost:3000/portal/x", { method: "POST", headers, body: "--x" });
    expect((await answerRoute(handler, request)).status).toBe(400);
  });

  it.runIf(isForm)("does nothing for a form on another site", async () => {
    const [status] = await ask(
      { [shownOrganizationField]: person.organizationId },
      "https://elsewhere.example",
    );
    expect(status).toBe(403);
  });
});
