/** View of the approval link: for whom, and that neither opening it nor anything else discloses the link. */
import { describe, expect, it } from "vitest";
import { bindRequest, confirmationCode } from "#lib/protocol/approval/approval";
import { contextHash } from "#lib/protocol/approval/shown-content";
import { approveUnproven, ask, fromPage } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";
import { readApprovalView } from "./inbox";

describe("the approval page's view", () => {
  const { test, key } = setupTestApp();

  const rowOf = async (id: string) => {
    const { rows } = await test.query("SELECT r::text AS row FROM authorization_requests r WHERE id = $1", [
      id,
    ]);
    return rows[0]?.["row"];
  };

  it("says until when an approval can be used", async () => {
    const asked = await ask(test, key, { usable_for_seconds: 60 });
    const read = async () => (await readApprovalView(test.app.context, asked.token))?.usable_until;
    expect(await read()).toBeNull();
    await approveUnproven(test, asked.made.request_id);
    expect(await read()).toBe((await asked.read()).body.usable_until);
    expect(await read()).toEqual(expect.any(String));
  });

  it("shows the page exactly what is hashed, and only to the link's holder", async () => {
    const context = { amount: "12,000.00 EUR", recipient: "Example GmbH" };
    const { made, token } = await ask(test, key, {
      context,
      inputs_hash: "sha256:aa",
      required_level: "orb",
    });
    const view = await readApprovalView(test.app.context, token);
    if (!view) throw new Error("no view");
    expect(bindRequest(view.request)).toEqual(view.binding);
    const { agent_name, organization_name, requested_by } = made;
    expect(view.requested_by).toEqual(requested_by);
    expect([agent_name, organization_name]).toEqual([view.agent.name, view.organization.name]);
    if (requested_by === null) throw new Error("nobody asks");
    expect(
      contextHash(
        made.context_salt,
        context,
        { agent_name, organization_name, group_names: [] },
        requested_by,
      ),
    ).toBe(view.request.context_hash);
    expect(view).toMatchObject({
      context,
      context_salt: made.context_salt,
      is_test: true,
      status: "pending",
    });
    expect(view.request).toMatchObject({
      action: made.action,
      inputs_hash: "sha256:aa",
      required_level: "orb",
    });
    expect(confirmationCode(view.binding.request_hash)).toBe(made.confirmation_code);
    expect(made.confirmation_code).toMatch(/^[A-Z2-7]{3}-[A-Z2-7]{3}$/);
    const last = token.at(-1) === "A" ? "B" : "A";
    for (const wrong of [
      made.request_id,
      `${token.slice(0, -1)}${last}`,
      token.slice(0, -1),
      `${token}A`,
      token.replace("areq_", "areq_A"),
    ]) {
      expect(await readApprovalView(test.app.context, wrong)).toBeNull();
      const denied = await test.call("POST", `/approve/${wrong}/deny`, { headers: fromPage, body: {} });
      expect(denied.status).toBe(404);
    }
  });

  it("changes nothing when it is opened or read", async () => {
    const asked = await ask(test, key);
    const before = await rowOf(asked.made.request_id);
    for (let i = 0; i < 5; i += 1) {
      await readApprovalView(test.app.context, asked.token);
      await asked.read();
      for (const what of ["deny", "proof", "world-id"]) {
        for (const method of ["GET", "HEAD"]) {
          const answer = await test.call(method, `/approve/${asked.token}/${what}`, { headers: fromPage });
          expect(answer.status).toBe(405);
        }
      }
    }
    expect(await rowOf(asked.made.request_id)).toBe(before);
  });

  it("leaves the approval link nowhere: no table, no log line, no answer but its own", async () => {
    const lines: string[] = [];
    const log = (...parts: unknown[]) => {
      lines.push(
        JSON.stringify(parts, (_, value) =>
          value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
        ),
      );
    };
    const { logger } = test.app.context;
    test.app.context.logger = { ...logger, info: log, warn: log, error: log, debug: log } as typeof logger;
    const { signRequest } = test.app.context.worldId;
    test.app.context.worldId.signRequest = () => {
      throw new Error("broken on purpose");
    };
    const canary = await ask(test, key, { action: "Canary" });
    await expect(canary.start()).rejects.toThrow("server_error");
    test.app.context.worldId.signRequest = signRequest;
    await canary.submit({});
    await canary.deny("no");
    await canary.deny("no");
    test.app.context.logger = logger;
    expect(lines.join()).toContain("broken on purpose");
    const secret = canary.token.split(".")[1] ?? "";
    expect(secret).toHaveLength(43);
    expect(lines.join()).not.toContain(secret);
    const { rows } = await test.query(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
      [],
    );
    expect(rows.length).toBeGreaterThan(20);
    for (const { name } of rows) {
      const found = await test.query(
        `SELECT count(*)::int AS n FROM "${String(name)}" t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0`,
        [secret, Buffer.from(secret).toString("hex")],
      );
      expect([name, found.rows[0]?.["n"]]).toEqual([name, 0]);
    }
  });
});
