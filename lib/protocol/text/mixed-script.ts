/**
 * Warnings about letters that pass for other letters (Unicode TS 39, "highly restrictive": one script, or Latin
 * with Japanese, Chinese or Korean). Whole words in another script that merely look Latin are not detected.
 */
import { authorizationRequestIdPattern } from "#lib/protocol/encoding/bytes";

export interface TextWarning {
  readonly kind: "mixed-script" | "styled-letters" | "right-to-left";
  /** The word that the warning is about, unchanged. Empty for "right-to-left". */
  readonly word: string;
  /** Names of the scripts in a "mixed-script" text, in order of appearance. */
  readonly scripts: readonly string[];
}

/** UAX 31's recommended and limited-use scripts; letters of all others count together as "Other". */
const scriptNames = [
  "Latin Cyrillic Greek Armenian Georgian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya",
  "Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Ethiopic Khmer Mongolian Han Hiragana Katakana",
  "Bopomofo Hangul Cherokee Canadian_Aboriginal Coptic Gothic Lisu Tifinagh Nko Adlam Vai Deseret Osage Javanese",
].flatMap((line) => line.split(" "));

const scripts = scriptNames.map((name) => ({
  name,
  own: new RegExp(`\\p{Script=${name}}`, "u"),
  extended: new RegExp(`\\p{Script_Extensions=${name}}`, "u"),
}));

/** TS 39's augmented sets: scripts that one language writes together. */
const written: Readonly<Record<string, readonly string[]>> = {
  Han: ["Japanese", "Chinese", "Korean"],
  Hiragana: ["Japanese"],
  Katakana: ["Japanese"],
  Bopomofo: ["Chinese"],
  Hangul: ["Korean"],
};
const shared = /[\p{Script=Common}\p{Script=Inherited}]/u;
const word = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}]+/gu;
/** Letters and digits of ASCII drawn in another style: mathematical, full width, circled, squared. */
const styled =
  /[\u{1D400}-\u{1D7FF}\uFF10-\uFF19\uFF21-\uFF3A\uFF41-\uFF5A\u24B6-\u24E9\u{1F110}-\u{1F189}]/u;
const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

interface CharacterScripts {
  readonly own: string;
  /** Writing systems that the character is at home in. */
  readonly systems: ReadonlySet<string>;
}

function findScripts(character: string): CharacterScripts | null {
  const extended = scripts.filter((script) => script.extended.test(character)).map((script) => script.name);
  if (extended.length === 0 && shared.test(character)) return null;
  const own = scripts.find((script) => script.own.test(character))?.name ?? extended[0] ?? "Other";
  const names = extended.length > 0 ? extended : ["Other"];
  return { own, systems: new Set(names.flatMap((name) => [name, ...(written[name] ?? [])])) };
}

/** A character is asked eighty times; a text of thousands repeats a few. Emptied when it is full. */
const known = new Map<string, CharacterScripts | null>();
const maxKnown = 10_000;

function listScripts(character: string): CharacterScripts | null {
  const found = known.get(character);
  if (found !== undefined) return found;
  if (known.size >= maxKnown) known.clear();
  const scripts = findScripts(character);
  known.set(character, scripts);
  return scripts;
}

function isHighlyRestrictive(found: readonly CharacterScripts[]): boolean {
  const others = found.filter((entry) => !entry.systems.has("Latin"));
  const common = [...(others[0]?.systems ?? [])].filter((system) =>
    others.every((entry) => entry.systems.has(system)),
  );
  if (others.length === 0) return true;
  if (others.length === found.length) return common.length > 0;
  return common.some((system) => ["Japanese", "Chinese", "Korean"].includes(system));
}

function warnAboutWord(value: string): TextWarning[] {
  const found = [...value].map(listScripts).filter((entry) => entry !== null);
  const warnings: TextWarning[] = [];
  if (!isHighlyRestrictive(found)) {
    const names = [...new Set(found.map((entry) => entry.own))];
    warnings.push({ kind: "mixed-script", word: value, scripts: names });
  }
  if (styled.test(value)) warnings.push({ kind: "styled-letters", word: value, scripts: [] });
  return warnings;
}

/**
 * `scope` "words": each word by itself, for sentences, which may well quote another language. "whole": the string
 * as one name, for slugs, agent names and field names.
 */
export function findTextWarnings(text: string, scope: "words" | "whole"): TextWarning[] {
  const parts = scope === "whole" ? [text] : [...text.matchAll(word)].map((match) => match[0]);
  const warnings = parts.flatMap(warnAboutWord);
  if (rightToLeft.test(text)) warnings.push({ kind: "right-to-left", word: "", scripts: [] });
  return warnings;
}

/* Classifies search input: an id, a hash, a request, a place in the log, or nothing. */

export type Searched =
  | { kind: "attestation_id"; id: string }
  | { kind: "hash"; hex: string }
  | { kind: "request_id"; id: string }
  | { kind: "log_index"; index: number };

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const hash = /^(?:sha-?256[:=]\s*)?([0-9a-f]{64})$/i;

/** A request's id, by itself or in the link to approve it. */
export const findRequestId = (text: string): string | undefined =>
  /(?:^|\/)(areq_[A-Za-z0-9_-]{22})(?:$|[./?#])/.exec(text.trim())?.[1];

export function parseSearched(text: string): Searched | null {
  const trimmed = text.trim();
  const id = uuid.exec(trimmed)?.[0];
  if (id !== undefined) return { kind: "attestation_id", id: id.toLowerCase() };
  const hex = hash.exec(trimmed)?.[1];
  if (hex !== undefined) return { kind: "hash", hex: hex.toLowerCase() };
  if (authorizationRequestIdPattern.test(trimmed)) return { kind: "request_id", id: trimmed };
  return /^\d{1,15}$/.test(trimmed) ? { kind: "log_index", index: Number(trimmed) } : null;
}
