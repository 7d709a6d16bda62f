/** The three usual wishes, to begin with. */

export interface RulesTemplate {
  title: string;
  text: string;
}

export const rulesTemplates: readonly RulesTemplate[] = [
  {
    title: "Small amounts without asking",
    text: `// Up to 50 EUR each and 200 EUR a day go without asking. Everything else asks a person.
@id("small-amounts")
permit (principal, action == Action::"act", resource)
when {
  context has amount &&
  context.amount.currency == "EUR" &&
  context.amount.value.lessThanOrEqual(decimal("50.0")) &&
  context.amount.total_today.lessThanOrEqual(decimal("200.0"))
};
`,
  },
  {
    title: "Never this tool",
    text: `// Nobody can approve this tool.
@id("never-delete")
forbid (principal, action, resource == Tool::"delete_database");
`,
  },
  {
    title: "Two of a group above an amount",
    text: `// Above 1,000 EUR, and for any amount in another currency, two people of "finance" must approve, by passkey.
// A request without an amount isn't covered.
// To demand World ID from each of them too, write "device" or "orb" in place of "none".
@id("large-amounts")
@approvals("2")
@group("finance")
@level("none")
permit (principal, action == Action::"act_approved", resource)
when {
  context has amount &&
  context.amount.currency == "EUR" &&
  context.amount.value.greaterThan(decimal("1000.0"))
};

@id("other-currencies")
@approvals("2")
@group("finance")
@level("none")
permit (principal, action == Action::"act_approved", resource)
when { context has amount && context.amount.currency != "EUR" };
`,
  },
];
