"use client";
/** Links for an auditor: made here, listed while they work, and revoked at once. */
import { useEffect } from "react";
import { AddressText } from "#components/portal/address-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { FormStatus } from "#components/portal/forms/form-status";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { SecretReveal } from "#components/portal/keys/secret-reveal";
import { type Column, DataTable } from "#components/ui/data-table";
import { Field, Select } from "#components/ui/field";
import { ListTime } from "#components/ui/local-time";
import { useRefresh } from "#components/ui/router";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import { openingLinkDays } from "#lib/api/schemas/key-choices";
import { formatCount } from "#lib/protocol/text/display-text";

export type LinkAction = FormAction<{ link: string }>;

const openings = { none: "hashes only", payee: "payee", all: "all details" } as const;

export function LinkDays({ id }: { readonly id: string }) {
  return (
    <Field id={id} label="Link ends in">
      <Select id={id} name="days" defaultValue="30">
        {openingLinkDays.map((days) => (
          <option key={days} value={days}>
            {formatCount(Number(days), "day")}
          </option>
        ))}
      </Select>
    </Field>
  );
}

function NewLink({ link }: { readonly link: string }) {
  return (
    <SecretReveal
      title="Copy the link now"
      label="link for the auditor"
      secret={link}
      note="You won't see it again. Whoever has it can open it until it ends or you revoke it."
    />
  );
}

/** Makes a link from the fields of the form around it. */
export function LinkButton({ action }: { readonly action: LinkAction }) {
  const [state, submit] = useFormAction(action);
  const refresh = useRefresh();
  const { result } = state;
  // The list on the page has the link.
  useEffect(() => {
    if (result !== null) void refresh();
  }, [result, refresh]);
  return (
    <>
      <SubmitButton variant="secondary" formAction={submit}>
        Create link
      </SubmitButton>
      <div className="flex basis-full flex-col gap-3">
        <FormStatus state={state} />
        {result ? <NewLink {...result} /> : null}
      </div>
    </>
  );
}

export interface OpeningLinkRow {
  readonly id: string;
  readonly subject: string;
  readonly attestationId: string | null;
  readonly opening: keyof typeof openings;
  readonly madeBy: string;
  readonly expiresAt: string;
  readonly opened: number;
  readonly lastOpenedAt: string | null;
}

interface LinkTableProps {
  readonly rows: readonly OpeningLinkRow[];
  readonly revoke: FormAction<null>;
}

export function OpeningLinkTable({ rows, revoke }: LinkTableProps) {
  const columns: readonly Column<OpeningLinkRow>[] = [
    {
      id: "subject",
      header: "Link to",
      isRowHeader: true,
      cell: ({ attestationId, subject }) =>
        attestationId === null ? (
          <span title={subject}>Pack: {subject}</span>
        ) : (
          <TextLink href={`/portal/attestations/${attestationId}`}>Receipt {attestationId}</TextLink>
        ),
    },
    { id: "opening", header: "Shows", width: "medium", cell: ({ opening }) => openings[opening] },
    {
      id: "by",
      header: "By",
      isCut: true,
      width: "large",
      cell: ({ madeBy }) => <AddressText value={madeBy} />,
    },
    { id: "until", header: "Ends", width: "medium", cell: ({ expiresAt }) => <ListTime iso={expiresAt} /> },
    {
      id: "count",
      header: "Opened",
      width: "small",
      numeric: true,
      cell: ({ opened }) => opened,
    },
    {
      id: "last",
      header: "Last opened",
      width: "medium",
      cell: ({ lastOpenedAt }) => (lastOpenedAt === null ? "never" : <ListTime iso={lastOpenedAt} />),
    },
    {
      id: "actions",
      header: "Actions",
      width: "small",
      cell: ({ id }) => (
        <ActionDialog
          triggerLabel="Revoke"
          title="Revoke link"
          description="The link stops working at once. Files that were saved with it stay with whoever saved them."
          action={revoke}
          fields={{ link_id: id }}
          confirmLabel="Revoke link"
        />
      ),
    },
  ];
  return (
    <DataTable
      caption="Links that work, newest first"
      isLine
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={null}
    />
  );
}
