/**
 * Guarantee: sign-in works with a second implementation of OpenID Connect (the PyPI package oidc-provider-mock, which is Authlib).
 * `npm run test:python` runs it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { addOwner } from "#lib/services/accounts/organizations";
import { saveProviderGroup } from "#lib/services/accounts/provider-groups";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { signInPerson } from "#support/portal";
import { isPythonWanted, requirePython } from "#support/python";
import { completeProviderSignIn, startProviderSignIn } from "./session";

const jar = vi.hoisted(() => ({ set: () => {}, get: () => undefined, getAll: () => [], delete: () => {} }));
vi.mock("next/headers", () => ({ headers: async () => new Headers(), cookies: async () => jar }));

const program = `
import sys, warnings
warnings.simplefilter("ignore")
from oidc_provider_mock import User, run_server_in_thread
told = {"email": "ada@corp.example", "email_verified": True, "groups": ["it-admins"]}
silent = {"email": "eve@corp.example", "groups": ["it-admins"]}
people = [User(sub="ada", claims=told), User(sub="eve", claims=silent)]
with run_server_in_thread(user_claims=people, require_nonce=True) as server:
    print(server.server_port, flush=True)
    sys.stdin.read()`;

async function startPythonProvider() {
  const python = await requirePython("identity");
  const child = spawn(python, ["-c", program], { stdio: ["pipe", "pipe", "ignore"] });
  const [port] = await once(child.stdout, "data");
  const close = async () => {
    child.stdin.end();
    await once(child, "exit");
  };
  return { issuer: `http://127.0.0.1:${String(port).trim()}`, close };
}

const base = "http://localhost:3000";
const readCookies = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((one) => one.split(";")[0] ?? "")
    .filter((pair) => !pair.endsWith("="))
    .join("; ");

async function signInAs(sub: string) {
  const started = await startProviderSignIn(new Request(`${base}/portal/sign-in/oidc`));
  const pressed = await fetch(started.headers.get("location") ?? "", {
    method: "POST",
    body: new URLSearchParams({ sub }),
    redirect: "manual",
  });
  const back = pressed.headers.get("location") ?? "";
  const headers = { cookie: readCookies(started) };
  return completeProviderSignIn(new Request(back, { headers }));
}

describe.skipIf(!isPythonWanted)("a provider in Python (run by npm run test:python)", () => {
  it("signs in whom it vouches for, with their groups, and nobody whose address it doesn't say it verified", async () => {
    const provider = await startPythonProvider();
    const test = await startTestApp(anyKind, {
      SIGN_UP: "invited",
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: "countersign",
      OIDC_CLIENT_SECRET: "client-secret-of-the-test",
      OIDC_GROUPS_CLAIM: "groups",
    });
    const { context } = test.app;
    const organizationId = (await addOwner(context, "owner@corp.example", { name: "Corp" })) ?? "";
    await test.query(
      `INSERT INTO organization_domains (id, organization_id, domain, token, created_at, verified_since)
        VALUES (gen_random_uuid(), $1, 'corp.example', 'token', now(), now())`,
      [organizationId],
    );
    const owner = await signInPerson(context, "owner@corp.example", organizationId);
    await saveProviderGroup(context, owner, { name: "it-admins", role: "admin", groupId: null });
    const ada = await signInAs("ada");
    expect([ada.headers.get("location"), readCookies(ada)]).toEqual([
      `${base}/portal`,
      expect.stringContaining("authjs.session-token="),
    ]);
    const { rows } = await test.query(
      "SELECT u.email, m.role FROM memberships m JOIN users u ON u.id = m.user_id ORDER BY u.email",
    );
    expect(rows).toEqual([
      { email: "ada@corp.example", role: "admin" },
      { email: "owner@corp.example", role: "owner" },
    ]);
    const eve = await signInAs("eve");
    expect(eve.headers.get("location")).toBe(`${base}/portal/sign-in?error=EmailUnverified`);
    await test.close();
    await provider.close();
  });
});
