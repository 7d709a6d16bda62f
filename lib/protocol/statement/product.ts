/** Constants of the product, the same on every deployment, and addresses that it prints. */

export const PRODUCT_URI = "https://countersign.dev";

/** Version in package.json, which code that runs in a browser can't read. */
export const PRODUCT_VERSION = "1.0.0";

/** The client and the command line as an npm package. */
export const NPM_PACKAGE = "countersign.tgz";

export const PYTHON_WHEEL = `countersign_client-${PRODUCT_VERSION}-py3-none-any.whl` as const;

/** The file of 1.0.0, whose module was called as two packages of others are. */
export const RETIRED_PYTHON_WHEEL = "countersign-1.0.0-py3-none-any.whl";

export function publicUrl(baseUrl: string, slug: string, id: string): string {
  return `${baseUrl}/verify/${slug}/${id}`;
}
