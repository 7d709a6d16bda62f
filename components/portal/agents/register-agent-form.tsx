"use client";
/** Registers an agent: its slug, what it says about itself, its key and its tools. */
import { useState } from "react";
import { FormEnd } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { describeControl, Field, Input } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { AgentKeyField } from "./agent-key-field";
import { AgentProfileFields } from "./agent-profile-fields";
import { AgentToolsField } from "./agent-tools-field";

export function RegisterAgentForm({ action }: { readonly action: FormAction }) {
  const [state, submit] = useFormAction(action);
  const [slug, setSlug] = useState("");
  const slugError = state.errors["slug"];
  const value = (name: string) => textValue(state, name);
  return (
    <PortalForm action={submit} className="flex flex-col gap-6">
      <Field
        id="agent-slug"
        label="Slug"
        hint="A-Z a-z 0-9 . _ - and at most 64 characters. It's permanently yours and can't be renamed."
        error={slugError}
      >
        <Input
          {...describeControl("agent-slug", { hint: true, error: slugError })}
          name="slug"
          value={slug}
          onChange={(event) => setSlug(event.target.value)}
          required
          maxLength={64}
          autoComplete="off"
          spellCheck={false}
          placeholder="invoice-bot"
        />
      </Field>
      <AgentProfileFields
        values={{
          name: value("name"),
          description: value("description"),
          code_hash: value("code_hash"),
          model_id: value("model_id"),
        }}
        errors={state.errors}
      />
      <AgentKeyField
        slug={slug}
        defaultValue={value("public_key_pem")}
        error={state.errors["public_key_pem"] ?? state.errors["proof_of_possession"]}
      />
      <AgentToolsField defaultValue={value("tools")} errors={state.errors} />
      <FormEnd state={state} label="Register agent" />
    </PortalForm>
  );
}
