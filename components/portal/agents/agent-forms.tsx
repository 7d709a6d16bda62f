"use client";
import { FormEnd } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import type { FormAction } from "#lib/api/schemas/form-state";
import { AgentKeyField } from "./agent-key-field";
import { AgentProfileFields, type ProfileValues } from "./agent-profile-fields";
import { AgentToolsField } from "./agent-tools-field";

interface AgentFormProps {
  readonly action: FormAction;
  readonly slug: string;
}

export function AgentProfileForm(props: AgentFormProps & { readonly values: ProfileValues }) {
  const { action, slug, values } = props;
  const [state, submit] = useFormAction(action);
  const value = (name: keyof ProfileValues) => textValue(state, name, values[name]);
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <input type="hidden" name="slug" value={slug} />
      <AgentProfileFields
        values={{
          name: value("name"),
          description: value("description"),
          code_hash: value("code_hash"),
          model_id: value("model_id"),
        }}
        errors={state.errors}
      />
      <FormEnd state={state} label="Save profile" />
    </PortalForm>
  );
}

export function AgentKeyForm({ action, slug }: AgentFormProps) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <input type="hidden" name="slug" value={slug} />
      <AgentKeyField
        slug={slug}
        defaultValue={textValue(state, "public_key_pem")}
        error={state.errors["public_key_pem"] ?? state.errors["proof_of_possession"]}
      />
      <FormEnd state={state} label="Save key" />
    </PortalForm>
  );
}

export function AgentToolsForm(props: AgentFormProps & { readonly tools: readonly string[] }) {
  const { action, slug, tools } = props;
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <input type="hidden" name="slug" value={slug} />
      <AgentToolsField defaultValue={textValue(state, "tools", tools.join("\n"))} errors={state.errors} />
      <FormEnd state={state} label="Save tools" />
    </PortalForm>
  );
}
