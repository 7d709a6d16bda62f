"use client";
/** A new API key with chosen permissions and expiry. */
import type { HookStep } from "#components/commands";
import { ChoiceFields } from "#components/portal/forms/choice-fields";
import { FormStatus } from "#components/portal/forms/form-status";
import { listValue, textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { type OwnSample, OwnSamples } from "#components/portal/overview/own-samples";
import { CodeBlock } from "#components/ui/code-block";
import { Checkbox, describeControl, Field, Input, Select } from "#components/ui/field";
import { TextLink } from "#components/ui/text-link";
import type { FormAction, FormState } from "#lib/api/schemas/form-state";
import {
  type KeyPurpose,
  keyLifetimesDays,
  keyPurposes,
  ownerScopes,
  type Scope,
  scopeNames,
  usualScopes,
} from "#lib/api/schemas/key-choices";
import type { CreatedKey } from "./key-dialogs";
import { SecretReveal } from "./secret-reveal";

const scopeHints = {
  attest: "record actions",
  authorize: "request, cancel and take back approvals",
  identity: "register agents, their keys and tools",
  read: "list and export, including private attestations",
  hook: "for a coding agent's hook: ask, and attest what was approved. Choose it alone, or with record.",
  record: "record actions without an approval: calls that a hook asks nobody about, or OpenTelemetry traces",
  freeze: "let a frozen agent go on. Don't give it to an agent. Every key can freeze one.",
  erase:
    "permanently delete the content of attestations. Don't give it to an agent, which could erase the evidence of what it did.",
  rules: "read and change your rules. Don't give it to an agent, which could allow itself everything.",
  audit: "read the audit log, with names and IP addresses",
  scim: "for your company's directory: who your people are and what groups they are in. Choose it alone, and give it to nothing else.",
} as const;

const purposes: Record<KeyPurpose | "other", { label: string; hint: string }> = {
  agent: { label: "An agent", hint: "records actions, requests approvals, registers itself, reads" },
  hook: { label: "A coding agent’s hook", hint: "asks, and attests what was approved" },
  hook_and_record: {
    label: "A coding agent’s hook that records",
    hint: "the same, and records calls that it asks nobody about",
  },
  attest: { label: "Attest only", hint: "records actions" },
  traces: { label: "OpenTelemetry traces", hint: "records calls that traces report" },
  directory: { label: "Your company’s directory", hint: "says who your people are, by SCIM" },
  other: { label: "Something else", hint: "choose each permission" },
};

interface PermissionFieldsProps {
  readonly state: FormState<CreatedKey>;
  readonly isOwner: boolean;
}

/** One choice by purpose. Without JavaScript, too, the boxes show up for the last one alone. */
function PermissionFields({ state, isOwner }: PermissionFieldsProps) {
  const mayChoose = (scope: Scope) => isOwner || !ownerScopes.includes(scope);
  const chosen = textValue(state, "purpose", "agent");
  const ids = Object.keys(purposes) as (keyof typeof purposes)[];
  return (
    <div className="group flex flex-col gap-5">
      <fieldset>
        <legend className="font-medium text-[15px]">What is it for?</legend>
        <div className="mt-1 grid gap-x-6 sm:grid-cols-2">
          {ids.map((id) => {
            const scopes: readonly Scope[] = id === "other" ? [] : keyPurposes[id];
            if (!scopes.every(mayChoose)) return null;
            const { label, hint } = purposes[id];
            return (
              <Checkbox
                key={id}
                type="radio"
                name="purpose"
                value={id}
                label={label}
                hint={
                  <>
                    {hint}
                    {scopes.length === 0 ? null : (
                      <span className="block font-mono">{scopes.join(", ")}</span>
                    )}
                  </>
                }
                defaultChecked={id === chosen}
              />
            );
          })}
        </div>
      </fieldset>
      <div className="group-has-[[name=purpose]:not([value=other]):checked]:hidden">
        <ChoiceFields
          name="scopes"
          legend="Permissions"
          hints={scopeHints}
          offered={scopeNames.filter(mayChoose)}
          chosen={listValue(state, "scopes", usualScopes)}
          error={state.errors["scopes"]}
        />
      </div>
    </div>
  );
}

function LimitField({ state }: { readonly state: FormState<CreatedKey> }) {
  const error = state.errors["per_day"];
  return (
    <Field
      id="key-limit"
      label="Attestations per day"
      hint="Optional. Your organization's limit always applies."
      error={error}
    >
      <Input
        {...describeControl("key-limit", { hint: true, error })}
        name="per_day"
        inputMode="numeric"
        defaultValue={textValue(state, "per_day")}
        placeholder="no limit"
      />
    </Field>
  );
}

interface UseNewKeyProps {
  readonly scopes: readonly string[];
  readonly samples: readonly OwnSample[];
  readonly hookSteps: readonly HookStep[];
}

/** Offers only what the key may do: one for a directory or for rules neither attests nor asks. */
export function UseNewKey({ scopes, samples, hookSteps }: UseNewKeyProps) {
  const allowed = samples.filter(({ scope }) => scopes.includes(scope));
  if (!scopes.includes("hook")) return allowed.length > 0 ? <OwnSamples samples={allowed} /> : null;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {hookSteps.map(({ title, command }) => (
        <CodeBlock key={title} label={title} code={command} />
      ))}
      <p className="text-muted text-sm">
        This is for Claude Code. See <TextLink href="/docs/hook">Hook for coding agents</TextLink> for others.
      </p>
    </div>
  );
}

interface CreateKeyFormProps {
  readonly action: FormAction<CreatedKey>;
  /** Owners alone can make a key that erases or changes rules. */
  readonly isOwner: boolean;
  /** Default: if an owner. */
  readonly mayLimit?: boolean;
  /** Examples that use the new key. */
  readonly samples: readonly OwnSample[];
  /** The same for one with the permission hook. */
  readonly hookSteps: readonly HookStep[];
}

export function CreateKeyForm({
  action,
  isOwner,
  mayLimit = isOwner,
  samples,
  hookSteps,
}: CreateKeyFormProps) {
  const [state, submit] = useFormAction(action);
  const nameError = state.errors["name"];
  return (
    <>
      <PortalForm action={submit} className="flex flex-col gap-5">
        <div className="grid gap-5 sm:grid-cols-2">
          <Field
            id="key-name"
            label="Name"
            hint="To help you recognize it, for example where it's used"
            error={nameError}
          >
            <Input
              {...describeControl("key-name", { hint: true, error: nameError })}
              name="name"
              defaultValue={textValue(state, "name")}
              maxLength={100}
              required
              placeholder="production worker"
            />
          </Field>
          <Field id="key-lifetime" label="Expires" hint="You can rotate it at any time">
            <Select
              {...describeControl("key-lifetime", { hint: true })}
              name="lifetime_days"
              defaultValue={textValue(state, "lifetime_days", "90")}
            >
              {keyLifetimesDays.map((days) => (
                <option key={days} value={days}>
                  in {days} days
                </option>
              ))}
              <option value="">never</option>
            </Select>
          </Field>
          {mayLimit ? <LimitField state={state} /> : null}
        </div>
        <PermissionFields state={state} isOwner={isOwner} />
        <div>
          <SubmitButton>Create key</SubmitButton>
        </div>
        <FormStatus state={state} />
        {state.result ? (
          <SecretReveal
            title="Copy the key now"
            label="API key"
            secret={state.result.text}
            note="You won't see it again. We store only its hash."
          />
        ) : null}
      </PortalForm>
      {state.result ? (
        <div className="mt-6">
          <UseNewKey scopes={state.result.scopes} samples={samples} hookSteps={hookSteps} />
        </div>
      ) : null}
    </>
  );
}
