/**
 * Guarantee: where sign-up is closed a sign-in link is mailed to members and invited people alone, and one that was mailed
 * signs nobody in who is neither any more. Whoever isn't let in leaves no account behind.
 */
import { beforeAll, expect, it, vi } from "vitest";
import { addOwner } from "#lib/services/accounts/organizations";
import { createSignInLink } from "#lib/services/accounts/provider-sign-in";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { anyKind } from "#support/databases";
import { addConfirmed } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { completeSignIn, requestSignInLink } from "./session";

const jar = vi.hoisted(() => ({ set: () => {}, get: () => undefined, getAll: () => [], delete: () => {} }));
vi.mock("next/headers", () => ({ headers: async () => new Headers(), cookies: async () => jar }));

const { test } = setupTestApp(anyKind, { SIGN_UP: "invited" });
beforeAll(async () => {
  await addOwner(test.app.context, "ada@corp.example", { name: "Corp" });
});

const query = async (text: string) => (await test.query(text, [])).rows;

async function mailedTo(email: string) {
  await requestSignInLink(email, "/portal");
  const [mail] = (await listMailbox(test.app.context.database)).filter(({ to }) => to === email);
  return { mail, link: /\S+\/portal\/sign-in\/confirm\S+/.exec(mail?.text ?? "")?.[0] };
}

function use(link: string | null | undefined, next = "/portal") {
  const { searchParams } = new URL(link ?? "");
  const [token, email] = [searchParams.get("token") ?? "", searchParams.get("email") ?? ""];
  return completeSignIn(new Request("http://localhost:3000/"), { token, email, next });
}

const wentTo = (response: Response) => new URL(response.headers.get("location") ?? "").pathname;
const hasSession = (response: Response) =>
  response.headers.getSetCookie().some((cookie) => /session-token=[^;]/.test(cookie));

it("mails a member a link that signs in, and a stranger that sign-up is closed", async () => {
  const { link } = await mailedTo("ada@corp.example");
  const signedIn = await use(link);
  expect([hasSession(signedIn), wentTo(signedIn)]).toEqual([true, "/portal"]);
  const stranger = await mailedTo("eve@elsewhere.example");
  expect([stranger.mail?.subject, stranger.link]).toEqual(["Sign-up is closed", undefined]);
});

it("leads to the inbox who only approves for others, unless they have an organization in use or another way", async () => {
  const email = "carol@elsewhere.example";
  await addOwner(test.app.context, email, { name: "Carol's" });
  await addConfirmed(test, await signInPerson(test.app.context, "ada@corp.example"), "Carol", email);
  const goTo = async (next?: string) =>
    wentTo(await use(await createSignInLink(test.app.context, email), next));
  expect([await goTo(), await goTo("/portal/keys")]).toEqual(["/portal/inbox", "/portal/keys"]);
  await test.createKey(email);
  expect(await goTo()).toBe("/portal");
});

it("signs nobody in by a link that was mailed before they were removed", async () => {
  await addOwner(test.app.context, "bob@corp.example", { name: "Bob's" });
  const { link } = await mailedTo("bob@corp.example");
  await query(
    "DELETE FROM memberships WHERE user_id = (SELECT id FROM users WHERE email = 'bob@corp.example')",
  );
  const refused = await use(link);
  expect(hasSession(refused)).toBe(false);
  expect(refused.headers.get("location")).toContain("/portal/sign-in?error=AccessDenied");
  expect(await query("SELECT email FROM users WHERE email = 'eve@elsewhere.example'")).toEqual([]);
});

it("signs in by the operator's link, once", async () => {
  const link = await createSignInLink(test.app.context, "ada@corp.example");
  expect(hasSession(await use(link))).toBe(true);
  expect(hasSession(await use(link))).toBe(false);
  expect(await createSignInLink(test.app.context, "eve@elsewhere.example")).toBeNull();
});
