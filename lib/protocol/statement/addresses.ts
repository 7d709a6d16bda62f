/** Addresses that this service prints. */

/** Where everyone can look at an attestation and check it. */
export function publicUrl(baseUrl: string, slug: string, id: string): string {
  return `${baseUrl}/verify/${slug}/${id}`;
}
