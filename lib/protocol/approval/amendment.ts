/**
 * Counter-offers and questions (docs/decisions/0052): a request that an approver changed is a new one that names the old
 * one, and may differ from it only where the agent allowed it.
 */
import {
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import {
  type Amount,
  amountUnits,
  amountValuePattern,
  canonicalAmount,
  findCurrencyMistake,
  padDecimals,
  writeMinorUnits,
} from "./amount";
import type { ApprovalRequest } from "./approval";
import { isSumName } from "./detail-names";
import {
  detailTypes,
  isOfType,
  isShownContent,
  listDetails,
  readField,
  readTypes,
  type ShownContent,
  type SignedDetails,
  toField,
} from "./shown-content";

/** Strictly rising, so that a list has one form. */
export const isFieldList = (fields: readonly string[]): boolean =>
  fields.every((field, at) => readField(field) !== undefined && (at === 0 || (fields[at - 1] ?? "") < field));

/** The arguments that complete and typed details are of; null if they aren't all of them. */
export function readInputs(
  details: SignedDetails | undefined,
  context: Readonly<Record<string, string>>,
): JsonObject | null {
  const typed = details?.complete === true ? readTypes(details, context) : null;
  if (typed === null) return null;
  const inputs: JsonObject = Object.fromEntries([
    ...typed.string,
    ...typed.number.map(([name, text]) => [name, Number(text)]),
    ...typed.boolean.map(([name, text]) => [name, text === "true"]),
  ]);
  for (const [name, text] of Object.entries(context)) {
    if (Object.hasOwn(inputs, name)) continue;
    // The one value without a type.
    if (text !== "null") return null;
    inputs[name] = null;
  }
  return inputs;
}

export const hashInputs = (inputs: JsonObject): string => `sha256:${canonicalHash(inputs)}`;

type Asked = Pick<ApprovalRequest, "amount" | "amendable" | "details" | "inputs_hash">;

/** Returns why a request can't be amendable in this way; null if it can. */
export function findUnamendable(asked: Asked, context: Readonly<Record<string, string>>): string | null {
  const { amendable = [], amount, inputs_hash } = asked;
  const absent = amendable.find((field) => {
    const name = readField(field);
    return name === undefined || (name === null ? !amount : !Object.hasOwn(context, name));
  });
  if (absent !== undefined) return `${absent} is not in the request`;
  const [left] = listParted(asked, context);
  if (left !== undefined) return `${toField(left)} is the amount: name amount too, so that both change`;
  if (inputs_hash === undefined) return null;
  const inputs = readInputs(asked.details, context);
  if (inputs === null || hashInputs(inputs) !== inputs_hash)
    return "needs details that are the inputs: complete, typed, and with the hash of inputs_hash";
  return amendable.includes("amount") && listFollowers(asked, context).length === 0
    ? "amount needs an amendable detail of the same number, which changes with it"
    : null;
}

const maxDetail = 1024;

export interface Changed {
  amount: Amount | undefined;
  context: Record<string, string>;
  /** Sorted names, those that follow the amount included. */
  fields: string[];
}

/** Values by field, as an approver wrote them; equal ones change nothing. */
export function applyChanges(
  asked: Asked,
  context: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Changed | { field: string; problem: string } {
  const { amendable = [] } = asked;
  const followers = listFollowers(asked, context);
  const types = asked.details && readTypes(asked.details, context);
  const changed: Changed = { amount: asked.amount, context: { ...context }, fields: [] };
  const findType = (name: string) =>
    types && detailTypes.find((type) => types[type].some(([typed]) => typed === name));
  for (const [field, written] of Object.entries(values)) {
    const name = readField(field);
    if (name === undefined || !amendable.includes(field)) return { field, problem: "can't be changed" };
    if (name === null) {
      const amount = asked.amount && { ...asked.amount, value: canonicalAmount(written) };
      if (!amount || !amountValuePattern.test(amount.value))
        return { field, problem: "must be an amount such as 8000.50, without thousands separators" };
      const mistake = findCurrencyMistake(amount.currency, amount.value);
      if (mistake !== null) return { field, problem: mistake };
      if (amount.value === asked.amount?.value) continue;
      if (!isLower(amount, asked.amount)) return { field, problem: "must be lower" };
      changed.amount = amount;
      changed.fields.push(field, ...followers.map(toField));
      for (const follower of followers)
        changed.context[follower] = writeAs(context[follower] ?? "", asked.amount ?? amount, amount);
      continue;
    }
    if (followers.includes(name)) return { field, problem: "follows the amount" };
    // Requests made before 2026-12 may still name one.
    if (listParted(asked, context).includes(name))
      return { field, problem: "is the amount, which can't be changed" };
    if (written === context[name]) continue;
    if ([...written].length > maxDetail || !written.isWellFormed() || written.includes("\0"))
      return { field, problem: `must be at most ${maxDetail} characters` };
    const type = findType(name);
    if (type ? !isOfType(type, written) : asked.details !== undefined)
      return { field, problem: type === undefined ? "can't be changed" : `must be a ${type}` };
    changed.context[name] = written;
    changed.fields.push(field);
  }
  changed.fields.sort();
  return changed;
}

/** Amendable details that are the amount's number; in the currency's smallest unit only if they are named as a sum. */
function listAmountDetails(
  { amount, amendable = [] }: Pick<ApprovalRequest, "amount" | "amendable">,
  context: Readonly<Record<string, string>>,
): string[] {
  if (!amount) return [];
  const isAmount = (name: string, text = "") =>
    canonicalAmount(text) === amount.value || (isSumName(name) && text === writeMinorUnits(amount));
  return listDetails(amendable).filter((name) => isAmount(name, context[name]));
}

/** Details that change with the amount. */
export const listFollowers = (
  request: Pick<ApprovalRequest, "amount" | "amendable">,
  context: Readonly<Record<string, string>>,
): string[] => (request.amendable?.includes("amount") ? listAmountDetails(request, context) : []);

/** Sums that would change without the amount: the changed request would say one, and its arguments another. */
const listParted = (
  request: Pick<ApprovalRequest, "amount" | "amendable">,
  context: Readonly<Record<string, string>>,
): string[] =>
  request.amendable?.includes("amount") ? [] : listAmountDetails(request, context).filter(isSumName);

/** Writes an amount as `text` has another. */
function writeAs(text: string, other: Amount, amount: Amount): string {
  if (text === other.value) return amount.value;
  return text === writeMinorUnits(other) ? writeMinorUnits(amount) : padDecimals(amount);
}

/** True for a lower amount in the same currency. */
export function isLower(now: ApprovalRequest["amount"], before: ApprovalRequest["amount"]): boolean {
  if (!now || !before || now.currency !== before.currency) return false;
  return amountUnits(now.value) < amountUnits(before.value);
}

/** Compares the content of both pages: values differ only where a detail is named. */
export function isShownBefore(
  { amends }: Pick<ApprovalRequest, "amends">,
  original: ApprovalRequest,
  { before, ...shown }: ShownContent,
): boolean {
  if (before === undefined) return false;
  if (!isJsonObject(before.context) || !isJsonObject(shown.context) || !Array.isArray(shown.group_names))
    return false;
  const names = listDetails(amends?.fields ?? []);
  if (Object.keys(before.context).sort().join("\n") !== names.sort().join("\n")) return false;
  if (!names.every((name) => Object.hasOwn(shown.context as object, name))) return false;
  return isShownContent(original, {
    ...shown,
    context: { ...shown.context, ...before.context },
    context_salt: before.context_salt,
    group_names: shown.group_names.slice(0, original.required_approvers.length),
  });
}

/* Questions of approvers, and what the agent or its organization answers. Others' words, to everybody. */

export const questionLimits = { count: 5, question: 500, answer: 1000 } as const;

export interface Question {
  question: string;
  asked_at: string;
  /** Null while nobody has answered. */
  answer: string | null;
  answered_at: string | null;
}

/** `salt`: of the context, so that the hash alone discloses nothing. */
export const hashQuestions = (salt: JsonValue, questions: JsonValue): string =>
  canonicalHash([salt, questions]);
