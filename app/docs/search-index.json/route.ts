/** The index of the documentation's search, made when the pages are built. */
import { findGuide } from "#components/guides/guides";
import { buildSearchIndex } from "#components/guides/search-index";

export const dynamic = "force-static";

/** Addresses in the texts don't matter to a search: each instance has the same index. */
const base = "https://countersign.example";

export const GET = () =>
  Response.json(buildSearchIndex(base, (slug) => findGuide(slug, base, null)?.text ?? ""));
