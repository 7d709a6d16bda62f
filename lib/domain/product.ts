/** Constants of the product, the same on every deployment. */

export const PRODUCT_URI = "https://countersign.dev";
