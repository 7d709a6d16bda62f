/** The guides by group and by name, and what the documentation lists. */
import { groups } from "./guides-list";

export type GuideSlug = (typeof groups)[number]["guides"][number]["slug"];

export interface GuideEntry {
  readonly slug: GuideSlug;
  readonly title: string;
  readonly description: string;
}

export interface GuideGroup {
  readonly title: string;
  readonly guides: readonly GuideEntry[];
}

export const guideGroups: readonly GuideGroup[] = groups;

/** A page of the documentation that is no guide. */
const apiReference = {
  slug: "api",
  title: "API reference",
  description: "Every operation with its fields and errors.",
} as const;

export const guideEntries: readonly GuideEntry[] = guideGroups.flatMap((group) => group.guides);

/** Groups of the documentation: the guides, and the API reference in front of the reference's guides. */
export const docsGroups = guideGroups.map(({ title, guides }) => ({
  title,
  guides: title === "Reference" ? [apiReference, ...guides] : guides,
}));
