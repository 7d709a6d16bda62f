/**
 * Where this service may send what others ask it to send (server-side request forgery, OWASP SSRF cheat sheet): to public
 * addresses, over https. A name is judged again by what it resolves to, when the connection is made.
 */
import ipaddr from "ipaddr.js";
import { fieldError } from "#lib/errors";
import { isLoopbackName } from "#lib/protocol/text/host";

/** Receivers on this machine are for trying it at home. */
interface WorldIdSetting {
  worldId: "local" | "portal" | "none";
}

export const mayReachLoopback = ({ worldId }: WorldIdSetting): boolean => worldId === "local";

const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];
const nat64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("64:ff9b::"), 96];

/**
 * Addresses that hold an IPv4 address (mapped, 6to4, Teredo) lead wherever that leads: none passes. Those of NAT64
 * (RFC 6052, 64:ff9b::/96) are how a network with DNS64 names a host that has IPv4 alone, and are as good as that.
 */
export function isReachable(address: string, mayBeLoopback: boolean): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv6 && parsed.match(nat64))
    return isReachable(parsed.toByteArray().slice(-4).join("."), false);
  const range = parsed.range();
  if (range === "loopback") return mayBeLoopback;
  if (range !== "unicast") return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(globalUnicast) : true;
}

/** Why nothing may be sent there; null if it may, as far as the text says. `URL` writes each form of an address as one. */
export function findUrlProblem(text: string, mayBeLoopback: boolean): string | null {
  const { protocol, hostname, username, password } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const isAddress = ipaddr.isValid(host);
  const isLoopback = isAddress ? ipaddr.parse(host).range() === "loopback" : isLoopbackName(host);
  if (username !== "" || password !== "") return "must not contain a user name or password";
  if (protocol !== "https:" && !(isLoopback && mayBeLoopback)) return "must be an https URL";
  const isRefused = isAddress ? !isReachable(host, mayBeLoopback) : isLoopback && !mayBeLoopback;
  return isRefused ? "must lead to a public address" : null;
}

/** For the field of a body that holds such an address. */
export function requireReceiver(
  { settings }: { settings: WorldIdSetting },
  field: string,
  url: string | null | undefined,
): void {
  const problem = typeof url === "string" ? findUrlProblem(url, mayReachLoopback(settings)) : null;
  if (problem !== null) throw fieldError("validation_error", field, problem);
}
