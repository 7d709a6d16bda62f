/** Number matching: whoever has nothing but the link decides nothing, and who guesses ends the request. */
import { describe, expect, it } from "vitest";
import { confirmationCode } from "#lib/protocol/approval/approval";
import { type AskedRequest, ask, fromPage, makeResult } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { readApprovalView } from "./inbox";

describe("requests that ask for the confirmation code", () => {
  const { test, key } = setupTestApp(anyKind, { LIMIT_APPROVE_PER_MINUTE: "1000" });

  const askWithCode = (body: object = {}) => ask(test, key, { require_code: true, ...body });
  const post = ({ token }: AskedRequest, what: string, body: object) =>
    test.call("POST", `/approve/${token}/${what}`, { headers: fromPage, body });
  /** Another code than this one, of the same form. */
  const wrongFor = (code: string, n = 0) =>
    `${code.startsWith("A") ? "B" : "A"}${code.slice(1, 6)}${"23456"[n]}`;
  const codes = (answers: { status: number; body: { code?: string } }[]) =>
    answers.map(({ status, body }) => `${status} ${body.code ?? ""}`.trim());

  it("give the code to the agent's side alone, and it does not follow from anything that the page has", async () => {
    const asked = await askWithCode();
    const { made, token } = asked;
    expect(made).toMatchObject({ require_code: true, status: "pending" });
    expect(made.confirmation_code).toMatch(/^[A-Z2-7]{3}-[A-Z2-7]{3}$/);
    const view = await readApprovalView(test.app.context, token);
    expect(view).toMatchObject({ confirmation_code: null, code_tries_left: 5 });
    expect(JSON.stringify(view)).not.toContain(made.confirmation_code);
    expect(made.confirmation_code).not.toBe(confirmationCode(view?.binding.request_hash ?? ""));
    const { body: known } = await asked.read();
    expect(known.require_code).toBe(true);
    expect(JSON.stringify(known)).not.toContain(made.confirmation_code);
    expect((await asked.read(key)).body.confirmation_code).toBe(made.confirmation_code);
    const { rows } = await test.query("SELECT r::text AS row FROM authorization_requests r WHERE id = $1", [
      made.request_id,
    ]);
    expect(JSON.stringify(rows)).not.toContain(made.confirmation_code);
  });

  it("are answered again with the same code, which is not stored with the answer", async () => {
    const body = { agent_slug: "treasurer", action: "Pay", require_code: true };
    const send = () =>
      test.call("POST", "/v1/authorize", { key, headers: { "idempotency-key": "with code" }, body });
    const first = await send();
    const again = await send();
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const { rows } = await test.query("SELECT k::text AS row FROM idempotency_keys k", []);
    expect(JSON.stringify(rows)).toContain(first.body.request_id);
    expect(JSON.stringify(rows)).not.toContain(first.body.confirmation_code);
  });

  it("are neither denied nor opened in World ID without it, and approved with it in any spelling", async () => {
    const asked = await askWithCode();
    const { made, submit, start } = asked;
    for (const what of ["deny", "world-id"])
      for (const body of [{}, { code: "" }, { code: "  " }, { code: null }])
        expect([what, codes([await post(asked, what, body)])]).toEqual([what, ["422 validation_error"]]);
    expect(codes([await post(asked, "world-id", { code: wrongFor(made.confirmation_code) })])).toEqual([
      "422 confirmation_code_wrong",
    ]);
    // A proof for this very request, which a wallet may make for anybody who has the link: its nonce is not ours.
    const other = await ask(test, key);
    const { rp_context } = await other.start();
    const view = await readApprovalView(test.app.context, asked.token);
    const named = {
      ...(await other.start()),
      rp_context,
      ...view?.binding,
      action: view?.binding.world_action ?? "",
    };
    expect(codes([await submit(await makeResult(named, "ada"))])).toEqual(["422 approval_refused"]);
    expect((await asked.read()).body.status).toBe("pending");

    const typed = ` ${made.confirmation_code.replace("-", " ").toLowerCase()} `;
    const started = await start(typed);
    expect((await submit(await makeResult(started, "ada"))).status).toBe(200);
    expect((await asked.read()).body).toMatchObject({ status: "approved", require_code: true });
  });

  it("are denied with it, from a form too", async () => {
    const asked = await askWithCode();
    expect((await asked.deny("no", asked.made.confirmation_code)).status).toBe(200);
    expect((await asked.read()).body).toMatchObject({ status: "denied", denial_reason: "no" });
    const plain = await askWithCode();
    const send = (code: string) =>
      test.call("POST", `/approve/${plain.token}/deny`, {
        headers: { ...fromPage, "content-type": "application/x-www-form-urlencoded" },
        rawBody: new URLSearchParams({ reason: "by hand", code }).toString(),
      });
    // The page is shown again, and says how many tries are left.
    expect((await send(wrongFor(plain.made.confirmation_code))).status).toBe(303);
    expect(await readApprovalView(test.app.context, plain.token)).toMatchObject({ code_tries_left: 4 });
    expect((await plain.read()).body.status).toBe("pending");
    expect((await send(plain.made.confirmation_code)).status).toBe(303);
    expect((await plain.read()).body).toMatchObject({ status: "denied", denial_reason: "by hand" });
  });

  it("are cancelled by the fifth wrong code, whatever it was entered for, and say so", async () => {
    const asked = await askWithCode();
    const wrong = wrongFor(asked.made.confirmation_code);
    const tries = [];
    for (const what of ["deny", "world-id", "deny", "world-id", "deny"])
      tries.push(await post(asked, what, { code: wrong }));
    expect(codes(tries)).toEqual([
      ...Array.from({ length: 4 }, () => "422 confirmation_code_wrong"),
      "409 authorization_not_pending",
    ]);
    expect(tries.map(({ body }) => /(\w+) (?:tries are|try is) left/.exec(body.detail)?.[1])).toEqual([
      "4",
      "3",
      "2",
      "one",
      undefined,
    ]);
    const { body } = await asked.read();
    expect(body.status).toBe("cancelled");
    expect(body.guidance).toContain("wrong confirmation code");
    expect(codes([await asked.deny("late", asked.made.confirmation_code)])).toEqual([
      "409 authorization_not_pending",
    ]);
    const { rows } = await test.query("SELECT action FROM audit_events WHERE subject = $1 ORDER BY id", [
      asked.made.request_id,
    ]);
    expect(rows.map(({ action }) => action)).toEqual([
      "authorization.requested",
      ...Array.from({ length: 5 }, () => "authorization.wrong_code"),
      "authorization.cancelled",
    ]);
  });

  it("judge at most five of a hundred codes that are sent at once", async () => {
    const asked = await askWithCode();
    const { confirmation_code: right } = asked.made;
    const guesses = Array.from({ length: 100 }, (_, i) => (i === 99 ? right : wrongFor(right, i % 5)));
    const answers = await Promise.all(guesses.map((code) => post(asked, "deny", { code })));
    const all = codes(answers);
    expect(all.filter((one) => one === "422 confirmation_code_wrong").length).toBeLessThanOrEqual(4);
    const { body } = await asked.read();
    const isDenied = all.at(-1) === "200";
    expect(body.status).toBe(isDenied ? "denied" : "cancelled");
    expect(all.filter((one) => one === "200").length).toBe(isDenied ? 1 : 0);
  });

  it("cancel a request whose fifth wrong code was counted by a process that died", async () => {
    const asked = await askWithCode();
    await test.query("UPDATE authorization_requests SET wrong_codes = 5 WHERE id = $1", [
      asked.made.request_id,
    ]);
    expect(codes([await asked.deny("", asked.made.confirmation_code)])).toEqual([
      "409 authorization_not_pending",
    ]);
    expect((await asked.read()).body.status).toBe("cancelled");
  });

  it("stay as they were without require_code: the page shows the code and asks for none", async () => {
    const asked = await ask(test, key);
    expect(asked.made.require_code).toBe(false);
    const view = await readApprovalView(test.app.context, asked.token);
    expect(view).toMatchObject({ confirmation_code: asked.made.confirmation_code, code_tries_left: null });
    expect((await asked.deny()).status).toBe(200);
  });
});
