/** Guarantee: every form of the portal tells which organization its page shows, and none can be made that does not. */
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it, vi } from "vitest";
import { AgentKeyForm, AgentProfileForm, AgentToolsForm } from "#components/portal/agents/agent-forms";
import { RegisterAgentForm } from "#components/portal/agents/register-agent-form";
import { PresentationForm } from "#components/portal/attestations/presentation-form";
import { CreateKeyForm } from "#components/portal/keys/create-key-form";
import { failedState, shownOrganizationField } from "#lib/api/schemas/form-state";
import { ApproverForm, DefaultGroupForm, GroupForm } from "./approver-forms";
import { InviteForm } from "./invite-form";
import { OrganizationForm } from "./organization-form";
import { PortalForm, PortalFrame, PortalPage } from "./shown-organization";

vi.mock("next/navigation", () => ({ useRouter: () => ({ refresh: () => {} }) }));

const action = async () => failedState("", {}, {});
const values = { name: "", description: "", code_hash: "", model_id: "" };
const forms: Record<string, ReactNode> = {
  profile: <AgentProfileForm action={action} slug="bot" values={values} />,
  key: <AgentKeyForm action={action} slug="bot" />,
  tools: <AgentToolsForm action={action} slug="bot" tools={[]} />,
  register: <RegisterAgentForm action={action} />,
  "API key": <CreateKeyForm action={action} isOwner samples={[]} hookSteps={[]} />,
  invitation: <InviteForm action={action} />,
  organization: (
    <OrganizationForm
      action={action}
      name="o"
      mark={{ text: null, color: null, shown: { text: "E", color: "teal" } }}
      isPublic
      pushShowsFacts
      canChange
    />
  ),
  approver: <ApproverForm action={action} />,
  "approvers' group": <GroupForm action={action} people={[]} />,
  "default group": <DefaultGroupForm action={action} groups={[]} />,
  presentation: <PresentationForm action={action} attestationId="a" fields={[]} />,
  "of a dialog": <PortalForm action="/">sure?</PortalForm>,
};

function render(form: ReactNode, inFrame: string, onPage: string): string[] {
  const html = renderToStaticMarkup(
    <PortalFrame organizationId={inFrame}>
      <PortalPage organizationId={onPage}>{form}</PortalPage>
    </PortalFrame>,
  );
  const field = new RegExp(`<input type="hidden" name="${shownOrganizationField}" value="([^"]*)"/>`, "g");
  return [...html.matchAll(field)].map(([, value = ""]) => value);
}

describe.each(Object.entries(forms))("the form %s", (_name, form) => {
  it("names the organization of its page, and none while the frame shows another", () => {
    expect(render(form, "a", "a")).toEqual(["a"]);
    expect(render(form, "a", "b")).toEqual([""]);
  });

  it("cannot be outside a page of the portal", () => {
    expect(() => renderToStaticMarkup(form)).toThrow("must be on a PortalPage");
  });
});

it("offers keys that erase to owners only, with a warning, and never from the start", () => {
  const shown = (isOwner: boolean) =>
    renderToStaticMarkup(
      <PortalPage organizationId="a">
        <CreateKeyForm action={action} isOwner={isOwner} samples={[]} hookSteps={[]} />
      </PortalPage>,
    );
  const boxes = (html: string) =>
    [...html.matchAll(/<input (?=[^>]*name="scopes")[^>]*>/g)].map(([box]) => [
      /value="(\w+)"/.exec(box)?.[1],
      box.includes("checked"),
    ]);
  const usual = ["attest", "authorize", "identity", "read"].map((scope) => [scope, true]);
  const unusual = (...scopes: string[]) => scopes.map((scope) => [scope, false]);
  expect(boxes(shown(false))).toEqual([...usual, ...unusual("hook", "record", "freeze", "audit")]);
  expect(boxes(shown(true))).toEqual([
    ...usual,
    ...unusual("hook", "record", "freeze", "erase", "rules", "audit", "scim"),
  ]);
  expect(shown(true)).toContain("could erase the evidence");
  expect(shown(false)).not.toContain("could erase the evidence");
});
