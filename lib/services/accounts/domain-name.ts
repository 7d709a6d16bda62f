/** Domains that an organization may say are its own: registered names and names below them, as DNS has them. */
import { domainToUnicode } from "node:url";
import { parse } from "tldts";

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const pattern = new RegExp(`^(?:${label}\\.)+${label}$`);
/** Room for `_countersign.` before it (RFC 1035 section 2.3.4: 253 characters in all). */
const maxLength = 240;

/**
 * In lower case, IDNs in Punycode (UTS 46, as `URL` writes hosts). Null for anything but a domain: addresses, ports and
 * paths, names of no registry, and public suffixes (publicsuffix.org), which no organization has alone.
 */
export function parseDomainName(text: string): string | null {
  const host = text.trim().replace(/\.$/, "");
  if (host.length > maxLength || /[\s\p{C}/\\?#@:%[\]]/u.test(host)) return null;
  const url = URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : null;
  if (url === null || url.hostname.length > maxLength || !pattern.test(url.hostname)) return null;
  const { domain, isIcann, isPrivate, isIp } = parse(url.hostname, { allowPrivateDomains: true });
  return isIp || domain === null || !(isIcann || isPrivate) ? null : url.hostname;
}

/** As people write it; the same if it is none that Punycode can hold. */
export const toUnicode = (domain: string): string => domainToUnicode(domain) || domain;
