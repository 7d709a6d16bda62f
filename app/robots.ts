import type { MetadataRoute } from "next";
import { publicBaseUrl } from "#lib/api/http/host-check";

export const dynamic = "force-dynamic";

/** Approval links are secrets and the portal is behind a login; everything else is public on purpose. */
export default function robots(): MetadataRoute.Robots {
  return {
    rules: {
      userAgent: "*",
      allow: "/",
      disallow: ["/approve/", "/demo/", "/opened/", "/portal", "/dev/", "/v1/"],
    },
    sitemap: `${publicBaseUrl()}/sitemap.xml`,
  };
}
