/** Constants of the product, the same on every deployment. */

export const PRODUCT_URI = "https://countersign.dev";

/** Of package.json, which code that runs in a browser cannot read. */
export const PRODUCT_VERSION = "0.1.0";
