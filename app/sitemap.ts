import type { MetadataRoute } from "next";
import { readDocument } from "#components/api-reference/document";
import { listEntries } from "#components/api-reference/entries";
import { guideGroups } from "#components/guides/guides-index";
import { publicBaseUrl } from "#lib/api/http/host-check";

export const dynamic = "force-dynamic";

/** Our own pages. Agents and attestations are public to readers who have their address, and not listed for harvesters. */
export default function sitemap(): MetadataRoute.Sitemap {
  const guides = guideGroups.flatMap(({ guides }) => guides.map(({ slug }) => `/docs/${slug}`));
  const operations = listEntries(readDocument(publicBaseUrl())).map(({ slug }) => `/docs/api/${slug}`);
  return ["", "/verify", "/verify/presentation", "/docs", ...guides, "/docs/api", ...operations].map(
    (path) => ({ url: `${publicBaseUrl()}${path}` }),
  );
}
