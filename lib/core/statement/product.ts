/** Constants of the product, the same on every deployment. */

export const PRODUCT_URI = "https://countersign.dev";

/** Of package.json, which code that runs in a browser cannot read. */
export const PRODUCT_VERSION = "1.0.0";

/** The file in which the Python client is installed. */
export const PYTHON_WHEEL = `countersign-${PRODUCT_VERSION}-py3-none-any.whl` as const;
