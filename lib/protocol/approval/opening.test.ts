/** An opening shows what was signed, of this approval, and lets nobody guess what it leaves out. */
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import { canonicalHash } from "#lib/protocol/encoding/canonical-json";
import { factsOfApproval, listFacts } from "#lib/protocol/record/facts";
import { listOpenings, makeOpenable, openedContent, openPayee } from "#support/openings";
import { checkOpening, readOpening } from "./opening";
import { isShownContent, saltEntries } from "./shown-content";

const asJson = (value: unknown) => value as JsonObject;

describe("an opening", () => {
  it.each(listOpenings())("is judged: $what", ({ authorization, opening, reason }) => {
    const outcome = checkOpening(opening, asJson(authorization));
    expect([outcome.status, outcome.reason]).toEqual([reason === undefined ? "pass" : "fail", reason]);
  });

  it("shows a name that the roster has without a doubt, and says in its answer which are which", () => {
    for (const { what, opening, authorization } of listOpenings()) {
      if (!/^names that|^one name by/.test(what)) continue;
      const names = Object.values(readOpening(opening, asJson(authorization))?.names.approvers ?? {});
      const said = what.startsWith("one") ? " (by the organization's own word)" : "";
      expect(names).toEqual([`Approver 1${said}`, "Approver 2", "Approver 3"]);
      expect(checkOpening(opening, asJson(authorization)).detail).toContain(
        said === "" ? "; 3 names as the roster has them" : "; 2 names as the roster has them; 1 name by",
      );
    }
    expect.assertions(4);
  });

  it("leads to the payee, the groups and the names, which are said to be the organization's word", () => {
    const authorization = makeOpenable(2);
    const opening = openPayee(authorization) as unknown as JsonValue;
    const opened = readOpening(opening, asJson(authorization));
    if (opened === null) throw new Error("nothing is opened");
    const { names, ...shown } = opened;
    const facts = listFacts({ ...factsOfApproval(asJson(authorization), names), ...shown });
    const read = (id: string) => facts.find((fact) => fact.id === id)?.text;
    expect(read("payee")).toBe("Example Ltd");
    expect(read("requester")).toBeUndefined();
    expect(read("people")).toMatch(/^Approver 1 \(by the organization's own word\), by passkey/);
    expect(JSON.stringify(opening)).not.toContain("DE02");
  });

  it("leads to what a hook's call ran, if the owner opens it", () => {
    const calls = listOpenings().filter(({ what }) => what.includes("hook's c"));
    const titles = calls.map(
      ({ opening, authorization }) => readOpening(opening, asJson(authorization))?.title,
    );
    expect(titles).toEqual(["git push\nrm -rf /tmp/a", "/srv/a", undefined]);
  });

  it("gives away no other entry: its salt is a hash of a secret, and no digest can be tried without its own", () => {
    const entries = saltEntries(openedContent);
    expect(new Set(entries.map(({ salt }) => salt)).size).toBe(entries.length);
    const { context_salt } = openedContent;
    const opening = JSON.stringify(openPayee(makeOpenable(2)));
    expect(opening).not.toContain(String(context_salt));
    const [iban] = entries.filter(({ name }) => name === "iban");
    const guess = canonicalHash([entries[0]?.salt ?? "", "context", "iban", iban?.value ?? null]);
    expect(opening).not.toContain(guess);
  });

  it("of version 2 covers the content by both hashes", () => {
    const { request } = makeOpenable(2);
    const { entries_hash: _one, ...first } = request;
    const changed = { ...openedContent, context: { payee: "Mallory Ltd" } };
    expect([isShownContent(request, openedContent), isShownContent(first, openedContent)]).toEqual([
      true,
      true,
    ]);
    expect(isShownContent({ ...request, entries_hash: "0".repeat(64) }, openedContent)).toBe(false);
    expect(isShownContent({ ...request, context_hash: "0".repeat(64) }, openedContent)).toBe(false);
    expect(isShownContent(request, changed)).toBe(false);
  });
});
