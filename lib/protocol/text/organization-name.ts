/** An organization by the name that an owner gave it, for people. */

const unnamedOrganization = "Unnamed organization";

/** `name`: null until an owner has given one. */
export function organizationTitle(name: string | null): string {
  return name ?? unnamedOrganization;
}
