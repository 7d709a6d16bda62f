"use client";
/** Uses that nobody was asked about, with two buttons each; and how many of them are put before people. */
import { AgentText } from "#components/agent-text";
import { FormEnd, FormStatus } from "#components/portal/forms/form-status";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { type Column, DataTable } from "#components/ui/data-table";
import { Field, Select } from "#components/ui/field";
import { ListTime } from "#components/ui/local-time";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import { reviewPercents } from "#lib/api/schemas/key-choices";
import type { ReviewedUse, ReviewRates } from "#lib/api/schemas/portal";

interface VerdictProps {
  readonly requestId: string;
  readonly submit: (form: FormData) => void;
}

const verdicts = [
  ["fine", "As it should be"],
  ["should_ask", "Should have been asked"],
] as const;

function Verdict({ requestId, submit }: VerdictProps) {
  return (
    <div className="flex flex-wrap gap-2">
      {verdicts.map(([verdict, label]) => (
        <PortalForm key={verdict} action={submit}>
          <input type="hidden" name="request_id" value={requestId} />
          <input type="hidden" name="verdict" value={verdict} />
          <SubmitButton variant="secondary" size="small">
            {label}
          </SubmitButton>
        </PortalForm>
      ))}
    </div>
  );
}

interface TableProps {
  readonly uses: readonly ReviewedUse[];
  /** Null for people who may not. */
  readonly review: FormAction<null> | null;
}

const noReview: FormAction<null> = async (state) => state;

/** The answer is above the table: the row that it is about leaves. */
export function ReviewTable({ uses, review }: TableProps) {
  const [state, submit] = useFormAction(review ?? noReview);
  const columns: Column<ReviewedUse>[] = [
    {
      id: "title",
      header: "Done",
      isRowHeader: true,
      cell: ({ title, request_id }) => (
        <TextLink href={`/portal/authorizations/${request_id}`}>
          <AgentText value={title} isName />
        </TextLink>
      ),
    },
    { id: "agent", header: "Agent", cell: ({ agent_slug }) => <AgentText value={agent_slug} isName /> },
    {
      id: "by",
      header: "Allowed by",
      cell: ({ policy_ids: ids }) => (ids.length === 0 ? "standing approval" : ids.join(", ")),
    },
    { id: "at", header: "When", cell: ({ decided_at }) => <ListTime iso={decided_at} /> },
    ...(review === null
      ? []
      : [
          {
            id: "verdict",
            header: "Verdict",
            cell: ({ request_id }: ReviewedUse) => <Verdict requestId={request_id} submit={submit} />,
          },
        ]),
  ];
  return (
    <div className="flex flex-col gap-4">
      <FormStatus state={state} />
      <DataTable
        caption="Uses to review, newest first"
        columns={columns}
        rows={uses}
        rowKey={({ request_id }) => request_id}
        empty={<p className="text-muted">Nothing to review.</p>}
      />
    </div>
  );
}

interface RatesProps {
  readonly rates: ReviewRates;
  readonly action: FormAction<null>;
}

export function ReviewRatesForm({ rates, action }: RatesProps) {
  const [state, submit] = useFormAction(action);
  const rows = [
    { name: "standing", label: "Standing approvals", percent: rates.standing },
    ...Object.entries(rates.rules).map(([id, percent]) => ({
      name: `rule ${id}`,
      label: `Rule “${id}”`,
      percent,
    })),
  ];
  return (
    <PortalForm action={submit} keepsFields className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-3">
        {rows.map(({ name, label, percent }) => (
          <Field key={name} id={`rate-${name}`} label={label}>
            <Select id={`rate-${name}`} name={name} defaultValue={String(percent)}>
              {reviewPercents.map((value) => (
                <option key={value} value={value}>
                  {value === "0" ? "none" : `${value} %`}
                </option>
              ))}
            </Select>
          </Field>
        ))}
      </div>
      <FormEnd state={state} label="Save" />
    </PortalForm>
  );
}
