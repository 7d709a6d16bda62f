/** Openings of approvals of both versions, and what somebody could show in their place. */
import { buildAuthorization, type HumanAuthorization } from "#lib/protocol/approval/approval";
import { buildOpening, type Opening } from "#lib/protocol/approval/opening";
import {
  contextHash,
  digestEntry,
  hashEntries,
  type OpenedEntry,
  type ShownContent,
  saltEntries,
} from "#lib/protocol/approval/shown-content";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { enrolledRequest, makePasskeyApproval, testName, testRoster } from "./enrolled-approvals";
import { signForTest, testFacts, testRequestedBy, testShown } from "./human-authorization";

export const openedContent: ShownContent = {
  ...testShown,
  context: { payee: "Example Ltd", iban: "DE02 1203 0000 0000 2020 51", invoice: "2026-114" },
  group_names: enrolledRequest.required_approvers.map((_, i) => `finance ${i + 1}`),
};
const { context_salt, context, agent_name, organization_name, group_names } = openedContent as {
  [Name in keyof ShownContent]: never;
};
const context_hash = contextHash(
  context_salt,
  context,
  { agent_name, organization_name, group_names },
  testRequestedBy,
);

export function makeOpenable(
  version: 1 | 2,
  named: object = {},
  content = openedContent,
): HumanAuthorization {
  const details = { complete: true, types: "sss" };
  const more = version === 2 ? { details, entries_hash: hashEntries(content) } : {};
  const request = { ...enrolledRequest, request_id: "areq_opened", context_hash, ...named, ...more };
  const approvals = [0, 1, 2].map((person) => makePasskeyApproval(request, testRoster, person));
  return signForTest(buildAuthorization(request, { ...testFacts, approvals }));
}

const listNames = ({ approvals }: HumanAuthorization) => {
  const ids = approvals.flatMap((one) => (one.type === "passkey" ? [one.approver_id] : []));
  return ids.map((approver_id, i) => ({ approver_id, name: `Approver ${i + 1}` }));
};

/** The payee alone, with the approvers' names; all of it of version 1. */
export const openPayee = (authorization: HumanAuthorization): Opening =>
  buildOpening(
    authorization.request,
    openedContent,
    listNames(authorization),
    ({ kind, name }) => kind === "context" && name === "payee",
  );

export interface OpeningCase {
  what: string;
  authorization: HumanAuthorization;
  opening: JsonValue;
  /** Undefined if it holds. */
  reason: string | undefined;
}

export function listOpenings(): OpeningCase[] {
  const [first, second, other] = [
    makeOpenable(1),
    makeOpenable(2),
    makeOpenable(2, { request_id: "areq_other" }),
  ];
  const whole = openPayee(first) as Extract<Opening, { content: ShownContent }>;
  const single = openPayee(second) as Extract<Opening, { entries: OpenedEntry[] }>;
  const [payee] = single.entries;
  const [name] = single.approvers;
  const signedNames = {
    ...single,
    approvers: single.approvers.map(({ approver_id }, i) => ({ approver_id, ...testName(i) })),
  };
  const [{ group, salt: groupSalt } = { group: "", salt: "" }] = testRoster.people[0]?.openings ?? [];
  const withName = (more: object) => ({
    ...signedNames,
    approvers: signedNames.approvers.map((one, i) => (i === 0 ? { ...one, ...more } : one)),
  });
  if (payee === undefined || name === undefined) throw new Error("nothing is opened");
  const all = saltEntries(openedContent);
  const iban = all.find((entry) => entry.name === "iban");
  if (iban === undefined) throw new Error("no IBAN");
  const withEntry = (entry: Partial<OpenedEntry>) => ({ ...single, entries: [{ ...payee, ...entry }] });
  const guessed = { ...iban, salt: "0".repeat(64) };
  const added = { ...payee, value: "Mallory Ltd" };
  const { digests } = single;
  const on = (authorization: HumanAuthorization) => (what: string, opening: unknown, reason?: string) => ({
    ...{ what, authorization, opening: opening as JsonValue, reason },
  });
  const [v1, v2] = [on(first), on(second)];
  const openCall = (what: string, called: Record<string, string>) => {
    const content = { ...openedContent, context: called };
    const authorization = makeOpenable(2, { action: "Use the tool Bash", tool: "Bash" }, content);
    const isDetail = ({ kind }: { kind: string }) => kind === "context";
    return on(authorization)(what, buildOpening(authorization.request, content, [], isDetail));
  };
  return [
    v1("version 1 as a whole", whole),
    v2("the payee alone", single),
    v2("nothing but names", { ...single, entries: [] }),
    v2("all entries", { ...single, entries: all, approvers: [] }),
    v2("version 2 as a whole", { ...whole, request_hash: single.request_hash }),
    openCall("a hook's command", { description: "Publish it", " ": "x", command: "git push\nrm -rf /tmp/a" }),
    openCall("a file of a hook's call", { pattern: "x", "File-Path (argument)": "/srv/a", path: "/srv/b" }),
    openCall("a hook's call of nothing that is known", { payee: "Example Ltd", command: "\ufeff \u00a0" }),
    v2("another value", withEntry({ value: "Mallory Ltd" }), "opening_mismatch"),
    v2("a value of another type", withEntry({ value: ["Example Ltd"] }), "opening_mismatch"),
    v2("the salt of another entry", withEntry({ salt: iban.salt }), "opening_mismatch"),
    v2("a guessed value without its salt", { ...single, entries: [guessed] }, "opening_mismatch"),
    v2("under another name", withEntry({ name: "supplier" }), "opening_mismatch"),
    v2("under another kind", withEntry({ kind: "name" }), "opening_mismatch"),
    v2("an entry twice", { ...single, entries: [payee, payee] }, "opening_mismatch"),
    v2(
      "an entry that is added with its digest",
      { ...single, entries: [added], digests: [...digests, digestEntry(added)].sort() },
      "opening_mismatch",
    ),
    v2("without a digest", { ...single, digests: digests.slice(1) }, "opening_mismatch"),
    v2("a digest twice", { ...single, digests: [digests[0], ...digests] }, "opening_malformed"),
    v2("digests in another order", { ...single, digests: [...digests].reverse() }, "opening_malformed"),
    v2("another field", { ...single, note: "" }, "opening_malformed"),
    v2("an entry with another field", withEntry({ note: "" } as never), "opening_malformed"),
    v2("an unknown kind", withEntry({ kind: "secret" as never }), "opening_malformed"),
    v2("65 entries", { ...single, entries: Array(65).fill(payee) }, "opening_malformed"),
    v2("a text", "opening", "opening_malformed"),
    v2(
      "an approver who did not decide",
      {
        ...single,
        approvers: [{ ...name, approver_id: "0198c0de-0000-7000-8000-0000000000ff" }],
      },
      "opening_mismatch",
    ),
    v2("names that the roster has", signedNames),
    v2("one name by the organization's word", {
      ...signedNames,
      approvers: [name, ...signedNames.approvers.slice(1)],
    }),
    v2("another name than the roster's", withName({ name: "Mallory" }), "opening_mismatch"),
    v2("a name with the salt of another", withName({ salt: testName(1).salt }), "opening_mismatch"),
    v2("another approver's name", withName(testName(1)), "opening_mismatch"),
    v2("a group's id as a name", withName({ name: group, salt: groupSalt }), "opening_mismatch"),
    v2("a salt of other length", withName({ salt: "AAAA" }), "opening_malformed"),
    v2("an approver twice", { ...single, approvers: [name, name] }, "opening_mismatch"),
    v2("a name without letters", { ...single, approvers: [{ ...name, name: "" }] }, "opening_malformed"),
    v2("a long name", { ...single, approvers: [{ ...name, name: "x".repeat(201) }] }, "opening_malformed"),
    {
      what: "on another approval",
      authorization: other,
      opening: single as unknown as JsonValue,
      reason: "opening_foreign",
    },
    {
      what: "on another approval, under its hash",
      authorization: first,
      opening: { ...single, request_hash: whole.request_hash } as unknown as JsonValue,
      reason: "opening_unsupported",
    },
    v1(
      "version 1 with another payee",
      {
        ...whole,
        content: {
          ...whole.content,
          context: { ...(openedContent.context as object), payee: "Mallory Ltd" },
        },
      },
      "opening_mismatch",
    ),
    v1(
      "version 1 with another salt",
      {
        ...whole,
        content: { ...whole.content, context_salt: "AAAA" },
      },
      "opening_mismatch",
    ),
    v1(
      "version 1 in part",
      {
        ...whole,
        content: { context: openedContent.context, context_salt: openedContent.context_salt },
      },
      "opening_malformed",
    ),
  ];
}
