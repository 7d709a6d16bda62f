"use client";
/** Changing a member's role, removing a member, withdrawing an invitation. */
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { Checkbox, Field, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { type Role, roleNames } from "#lib/api/schemas/key-choices";
import { roleWords } from "./role-words";

export interface MemberActions {
  readonly changeRole: FormAction;
  readonly remove: FormAction;
}

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  readonly since: string;
  readonly liveKeys: number;
}

/** Loss of a person whose role as an owner ends. */
const describeLoss = (isSelf: boolean) =>
  `${isSelf ? "Your" : "Their"} API keys lose the permissions erase and rules, and changes of the rules that ${isSelf ? "you" : "they"} proposed and that still wait are dropped.`;

interface MemberDialogProps {
  readonly action: FormAction;
  readonly member: Member;
  readonly isSelf: boolean;
}

export function RoleDialog({ action, member, isSelf }: MemberDialogProps) {
  const id = `role-${member.userId}`;
  return (
    <ActionDialog
      triggerLabel="Change role"
      triggerDetail={`: ${member.email}`}
      title="Change role"
      description={[
        `${isSelf ? "You are" : `${member.email} is`} ${member.role} now.`,
        ...(member.role === "owner" ? [`With another role: ${describeLoss(isSelf)}`] : []),
        `For an approver or auditor, the API keys of this address are revoked: rotate those that agents use first. An auditor is no approver any more.`,
      ].join(" ")}
      action={action}
      fields={{ user_id: member.userId }}
      confirmLabel="Change role"
      confirmVariant="primary"
    >
      <Field id={id} label="Role">
        <Select id={id} name="role" defaultValue={member.role}>
          {roleNames.map((role) => (
            <option key={role} value={role}>
              {role}: {roleWords[role]}
            </option>
          ))}
        </Select>
      </Field>
    </ActionDialog>
  );
}

export function RemoveDialog({ action, member, isSelf }: MemberDialogProps) {
  return (
    <ActionDialog
      triggerLabel={isSelf ? "Leave" : "Remove"}
      triggerDetail={isSelf ? undefined : ` ${member.email}`}
      title={isSelf ? "Leave organization" : "Remove member"}
      description={`${isSelf ? "You will no longer see" : `${member.email} will no longer see`} this organization. Its records stay.${member.role === "owner" ? ` ${describeLoss(isSelf)}` : ""}`}
      action={action}
      fields={{ user_id: member.userId }}
      confirmLabel={isSelf ? "Leave" : "Remove"}
    >
      <Checkbox
        name="revoke_keys"
        defaultChecked={!isSelf}
        label={`Revoke the API keys created with this address (${member.liveKeys} active)`}
        hint="Agents that use them stop working immediately. Otherwise anyone who has the keys can keep using them."
      />
    </ActionDialog>
  );
}

interface WithdrawDialogProps {
  readonly action: FormAction;
  readonly invitationId: string;
  readonly email: string;
}

export function WithdrawDialog({ action, invitationId, email }: WithdrawDialogProps) {
  return (
    <ActionDialog
      triggerLabel="Withdraw"
      triggerDetail={` the invitation of ${email}`}
      title="Withdraw invitation"
      description={`The link in the mail to ${email} no longer works.`}
      action={action}
      fields={{ invitation_id: invitationId }}
      confirmLabel="Withdraw"
    />
  );
}
