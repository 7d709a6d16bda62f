/** An organization by the name that an owner gave it, for people. */
const unnamedOrganization = "Unnamed organization";

export function organizationTitle(name: string | null): string {
  return name ?? unnamedOrganization;
}

interface Listed {
  readonly organizationId: string;
  readonly name: string | null;
}

/** Tells organizations of one list that have the same title apart, by the ends of their ids. */
export function organizationTitleIn(list: readonly Listed[], { organizationId, name }: Listed): string {
  const title = organizationTitle(name);
  const isShared = list.some(
    (other) => other.organizationId !== organizationId && organizationTitle(other.name) === title,
  );
  return isShared ? `${title} (${organizationId.slice(-4)})` : title;
}

/*
 * Mark of an organization, one or two characters and a colour beside its name, by which people recognize it. The organization
 * chooses it: it proves nothing.
 */

export const markColors = ["slate", "blue", "violet", "teal", "brown", "plum"] as const;
export type MarkColor = (typeof markColors)[number];

export interface OrganizationMark {
  text: string;
  color: MarkColor;
}

/** Letters and digits only: signs could pass for a verdict. `#`: a name that has neither. */
export const markPattern = /^(?:[\p{L}\p{N}]{1,2}|#)$/u;

const firstCharacter = (text: string) => [...text][0] ?? "";

/** The first characters of the first two words, and a colour that follows from the name. */
export function deriveMark(name: string): OrganizationMark {
  const words = name.replaceAll(/['’]s\b/gu, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  const initials = words.slice(0, 2).map((word) => firstCharacter(firstCharacter(word).toUpperCase()));
  const sum = [...name].reduce((total, character) => total + (character.codePointAt(0) ?? 0), 0);
  return { text: initials.join("") || "#", color: markColors[sum % markColors.length] ?? "slate" };
}
