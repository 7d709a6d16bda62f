import { describe, expect, it } from "vitest";
import { failedState } from "#lib/api/schemas/form-state";
import { RemoveDialog, RoleDialog } from "./member-dialogs";

const action = async () => failedState("", {}, {});
const owner = { userId: "u", email: "ana@example.com", role: "owner", since: "", liveKeys: 1 } as const;
const member = { ...owner, role: "member" } as const;
const loss =
  "Their API keys lose the permissions erase and rules, and changes of the rules that they proposed and that still wait are dropped.";
// A closed dialog renders its button only.
const wordsOf = (dialog: { readonly props: { readonly description: string } }) => dialog.props.description;

describe("who is an owner no longer", () => {
  it("is said to lose what goes with the role, also when removed", () => {
    expect(wordsOf(RoleDialog({ action, member: owner, isSelf: false }))).toContain(loss);
    expect(wordsOf(RemoveDialog({ action, member: owner, isSelf: false }))).toContain(loss);
    expect(wordsOf(RemoveDialog({ action, member: owner, isSelf: true }))).toContain("that you proposed");
    expect(wordsOf(RemoveDialog({ action, member, isSelf: false }))).not.toContain("lose");
    expect(wordsOf(RoleDialog({ action, member, isSelf: false }))).not.toContain("lose");
    const own = wordsOf(RoleDialog({ action, member: owner, isSelf: true }));
    expect(own).toMatch(/^You are owner now\. .* Your API keys lose/);
    expect(own).not.toContain(owner.email);
  });
});
