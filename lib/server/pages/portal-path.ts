/** Where a sign-in may lead: a path of the portal and nowhere else. */

/** `/portal` for everything that is not such a path, with `//`, `\` and dots refused. */
export function safePortalPath(path: string | null | undefined): string {
  return path && /^\/portal(?:\/[A-Za-z0-9_-]+)*$/.test(path) ? path : "/portal";
}
