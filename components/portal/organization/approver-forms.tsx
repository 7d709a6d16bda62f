"use client";
/** Adding an approver, a group and its people, and the group that is notified by default. */
import type { ReactNode } from "react";
import { FormEnd, FormStatus } from "#components/portal/forms/form-status";
import { listValue, textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { Callout } from "#components/ui/callout";
import { Checkbox, describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction, FormState } from "#lib/api/schemas/form-state";
import { PortalForm } from "./shown-organization";

interface Named {
  readonly id: string;
  readonly name: string;
}

interface TextFieldProps {
  readonly id: string;
  readonly name: "name" | "email";
  readonly label: ReactNode;
  readonly state: FormState<null>;
  readonly placeholder?: string;
  readonly value?: string;
}

function TextField({ id, name, label, state, placeholder, value = "" }: TextFieldProps) {
  const error = state.errors[name];
  return (
    <Field id={id} label={label} error={error}>
      <Input
        {...describeControl(id, { error })}
        name={name}
        type={name === "email" ? "email" : "text"}
        required
        maxLength={name === "name" ? 64 : 254}
        autoComplete="off"
        defaultValue={textValue(state, name, value)}
        placeholder={placeholder}
      />
    </Field>
  );
}

export function ApproverForm({ action }: { readonly action: FormAction }) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField id="approver-name" name="name" label="Name" state={state} placeholder="Ana" />
        <TextField
          id="approver-email"
          name="email"
          label="Email address"
          state={state}
          placeholder="ana@example.com"
        />
      </div>
      <p className="text-muted text-sm">
        Agents use the name in <code>approvers</code>. The person gets one email and must accept first.
      </p>
      <FormEnd state={state} label="Add approver" />
    </PortalForm>
  );
}

interface GroupFormProps {
  readonly action: FormAction;
  readonly people: readonly Named[];
  /** Absent for a new one. */
  readonly group?: Named & {
    readonly members: readonly Named[];
    readonly reached: number;
    readonly enrolled: number;
  };
}

function NobodyReached({ hasPeople }: { readonly hasPeople: boolean }) {
  return (
    <Callout tone="warn" title="Nobody is notified">
      {hasPeople
        ? "None of the people in this group has accepted yet. A request that names only this group waits unseen."
        : "This group has no people. A request that names only this group waits unseen. Choose people and save."}
    </Callout>
  );
}

/** Counts enrolled people of the group: a request can require as many approvals. */
function Enrolled({ people, enrolled }: { readonly people: number; readonly enrolled: number }) {
  if (people === 0) return null;
  if (enrolled === 0)
    return (
      <Callout tone="warn" title="Nobody has a passkey">
        A request that requires this group is refused until one of its people has created a passkey.
      </Callout>
    );
  return (
    <p className="text-muted text-sm">
      {enrolled} of {people} {people === 1 ? "person has" : "people have"} a passkey: a request can require up
      to {enrolled}.
    </p>
  );
}

export function GroupForm({ action, people, group }: GroupFormProps) {
  const [state, submit] = useFormAction(action);
  const chosen = listValue(state, "members", group?.members.map(({ id }) => id) ?? []);
  return (
    <PortalForm action={submit} className="flex flex-col gap-3">
      {group === undefined ? null : <input type="hidden" name="group_id" value={group.id} />}
      <TextField
        id={`group-${group?.id ?? "new"}`}
        name="name"
        label={
          group === undefined ? (
            "New group"
          ) : (
            <>
              Group<span className="sr-only"> {group.name}</span>
            </>
          )
        }
        state={state}
        value={group?.name ?? ""}
        placeholder="Finance"
      />
      <fieldset className="flex flex-wrap gap-x-6">
        <legend className="sr-only">People of {group?.name ?? "the new group"}</legend>
        {people.map(({ id, name }) => (
          <Checkbox key={id} name="members" value={id} label={name} defaultChecked={chosen.includes(id)} />
        ))}
      </fieldset>
      <FormStatus state={state} />
      {group !== undefined && group.reached === 0 ? (
        <NobodyReached hasPeople={group.members.length > 0} />
      ) : null}
      {group === undefined ? null : <Enrolled people={group.members.length} enrolled={group.enrolled} />}
      <div>
        <SubmitButton variant={group === undefined ? "primary" : "secondary"}>
          {group === undefined ? "Create group" : `Save ${group.name}`}
        </SubmitButton>
      </div>
    </PortalForm>
  );
}

interface TurnsFormProps {
  readonly action: FormAction;
  readonly people: readonly Named[];
  readonly group: Named & {
    readonly members: readonly (Named & { readonly step: number })[];
    readonly escalation: { readonly afterMinutes: number | null; readonly lastResort: string | null };
  };
}

const turnNumbers = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Order of notification: who first, and who if nobody has decided by then. */
export function TurnsForm({ action, people, group }: TurnsFormProps) {
  const [state, submit] = useFormAction(action);
  const { after: error } = state.errors;
  const { afterMinutes, lastResort } = group.escalation;
  return (
    <details>
      <summary className="cursor-pointer text-[15px]">
        Order of notifications<span className="sr-only"> of {group.name}</span>
        {afterMinutes === null ? ": all at once" : `: the next after ${afterMinutes} min`}
      </summary>
      <PortalForm action={submit} className="mt-3 flex flex-col gap-3">
        <input type="hidden" name="group_id" value={group.id} />
        <Field
          id={`after-${group.id}`}
          label="Minutes until the next are notified"
          hint="If nobody has decided by then. Empty: everybody at once. Anyone of the group can decide at any time."
          error={error}
        >
          <Input
            {...describeControl(`after-${group.id}`, { hint: true, error })}
            name="after"
            type="number"
            min={1}
            max={1440}
            defaultValue={textValue(state, "after", afterMinutes === null ? "" : String(afterMinutes))}
          />
        </Field>
        <div className="grid gap-3 sm:grid-cols-3">
          {group.members.map(({ id, name, step }) => (
            <Field key={id} id={`turn-${group.id}-${id}`} label={name}>
              <Select id={`turn-${group.id}-${id}`} name="turns" defaultValue={`${id} ${step}`}>
                {turnNumbers.map((turn) => (
                  <option key={turn} value={`${id} ${turn}`}>
                    Turn {turn}
                  </option>
                ))}
              </Select>
            </Field>
          ))}
        </div>
        <Field id={`last-${group.id}`} label="Last resort, after everybody else">
          <Select id={`last-${group.id}`} name="last_resort" defaultValue={lastResort ?? ""}>
            <option value="">nobody</option>
            {people.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        </Field>
        <FormEnd state={state} label="Save order" variant="secondary" />
      </PortalForm>
    </details>
  );
}

interface DefaultGroupFormProps {
  readonly action: FormAction;
  readonly groups: readonly (Named & { readonly isDefault: boolean })[];
}

export function DefaultGroupForm({ action, groups }: DefaultGroupFormProps) {
  const [state, submit] = useFormAction(action);
  const chosen = groups.find(({ isDefault }) => isDefault)?.id ?? "";
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <Field
        id="default-group"
        label="If a request names nobody, notify"
        hint="Choose a group, or approvers hear only of requests that name them."
      >
        <Select {...describeControl("default-group", { hint: true })} name="group_id" defaultValue={chosen}>
          <option value="">nobody</option>
          {groups.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      </Field>
      <FormEnd state={state} label="Save default" variant="secondary" />
    </PortalForm>
  );
}

interface RequesterFormProps {
  readonly action: FormAction;
  readonly rule: { readonly mayApprove: boolean; readonly isChosen: boolean };
}

/** Separation of duties. */
export function RequesterForm({ action, rule }: RequesterFormProps) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <Field
        id="requester-may-approve"
        label="Whoever requests an approval"
        hint={
          rule.mayApprove && !rule.isChosen
            ? "You are the only person, so you may approve what your own keys request, and the approval says so. That ends with the second person, unless you choose it here."
            : "That is who created the agent's API key, or asked in the portal. If they may approve, the approval says so."
        }
      >
        <Select
          {...describeControl("requester-may-approve", { hint: true })}
          name="requester_may_approve"
          defaultValue={textValue(state, "requester_may_approve", rule.mayApprove ? "yes" : "no")}
        >
          <option value="no">doesn't count as one of its approvers</option>
          <option value="yes">may approve it too</option>
        </Select>
      </Field>
      <FormEnd state={state} label="Save" variant="secondary" />
    </PortalForm>
  );
}
