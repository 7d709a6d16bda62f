/**
 * The agents that rules name. A slug is an agent's in any spelling, and Cedar compares names exactly: a rule about another
 * spelling than the registered one applies to nothing, and looks like protection.
 */
import { slugKey } from "#lib/services/agents/agents";

/** A name, or a string or comment, in which there is none. */
const token = /\bAgent\s*::\s*"((?:[^"\\]|\\.)*)"|"(?:[^"\\]|\\.)*"|\/\/[^\n]*/gs;

export const namedAgents = (text: string): { name: string; index: number }[] =>
  [...text.matchAll(token)].flatMap(({ 1: name, index }) => (name === undefined ? [] : [{ name, index }]));

/** How rules spell this slug, if they name it otherwise alone. */
export function otherSpelling(text: string, slug: string): string | null {
  const names = namedAgents(text).flatMap(({ name }) => (slugKey(name) === slugKey(slug) ? [name] : []));
  return names.includes(slug) ? null : (names[0] ?? null);
}
