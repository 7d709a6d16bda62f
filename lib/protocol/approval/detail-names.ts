/** Names of a request's details: which say how much and to whom, and labels for people. */

/** A name that is missed here is still shown, only later and smaller. */
const sums = /amount|total|price|sum\b|cost|value|fee/;
const amounts = new RegExp(`${sums.source}|budget|limit|currency|quantity`);
const recipients =
  /recipient|payee|beneficiary|creditor|receiver|destination|iban|account|wallet|address|e-?mail|domain|host|\bto\b/;
/** Others concerned, and powers that somebody gets. */
const parties =
  /customer|grantee|principal|assignee|\bb?cc\b|\busers?\b|\broles?\b|polic(?:y|ies)|permission|privilege|\bscopes?\b/;
/** Names of people, rather than of addresses of something of theirs. */
const payees = /recipient|payee|beneficiary|creditor|receiver|supplier|vendor|merchant|\bto\b/;

/** `recipientName`, `recipient_name` and `recipient-name` are read alike, hidden characters inside are not read. */
function readName(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/[\p{M}\p{C}\p{Default_Ignorable_Code_Point}]/gu, "");
  const words = plain.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[_.\-/]+/g, " ");
  return words.toLowerCase();
}

/** 0: how much, 1: to whom, 2: anything else. */
export function rankName(name: string): number {
  const words = readName(name);
  if (amounts.test(words)) return 0;
  return [recipients, payees, parties].some((one) => one.test(words)) ? 1 : 2;
}

const minorUnits = /\b(?:cents?|pence|minor)\b/;

/** True for the name of a sum of money, whole or in the currency's smallest unit. */
export const isSumName = (name: string): boolean =>
  [sums, minorUnits].some((one) => one.test(readName(name)));

const addresses = /iban|account|wallet|address|e-?mail|domain|host/;

/** Name of the first detail that names somebody; null if none does. */
export function findPayeeName(context: Readonly<Record<string, string>>): string | null {
  const named = Object.entries(context).filter(([name]) => payees.test(readName(name)) && rankName(name) > 0);
  const [first] = named.filter(([name]) => !addresses.test(readName(name)));
  return (first ?? named[0])?.[0] ?? null;
}

export function findPayee(context: Readonly<Record<string, string>>): string | null {
  const name = findPayeeName(context);
  return name === null ? null : (context[name] ?? null);
}

const acronyms = new Set(
  "api arn aws bic db dns html iban id ip json po pr sku sql swift uri url uuid vat".split(" "),
);
const plainName = /^[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*$/;

/** "Invoice number" for `invoice_number` and `invoiceNumber`; any other name stays as it is. */
function chooseLabel(name: string): string {
  if (!plainName.test(name)) return name;
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[ _.-]/)
    .map((word) => (acronyms.has(word.toLowerCase()) ? word.toUpperCase() : word))
    .map((word) => (word.length > 1 && word === word.toUpperCase() ? word : word.toLowerCase()));
  const label = words.join(" ");
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

/** Label of each name. Names that would look the same stay as they are. */
export function labelNames(names: readonly string[]): (name: string) => string {
  const labels = names.map(chooseLabel);
  const isOnly = (label: string) => labels.indexOf(label) === labels.lastIndexOf(label);
  return (name) => (isOnly(chooseLabel(name)) ? chooseLabel(name) : name);
}
