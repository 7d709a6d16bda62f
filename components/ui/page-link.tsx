/**
 * A link to another page of this site, or to another host. Pages are exchanged in place, but for those that are loaded
 * whole (lib/api/schemas/page-headers.ts). Nothing is fetched before somebody follows the link.
 */
import { isExchanged } from "#lib/api/schemas/page-headers";
import { InPlaceLink, type LinkProps } from "./navigation";

export function PageLink(props: LinkProps) {
  return isExchanged(props.href) ? <InPlaceLink {...props} /> : <a {...props} />;
}
