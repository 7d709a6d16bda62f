/** The yardstick for Next (plain-next.mjs). */
import { fileURLToPath } from "node:url";

export default { outputFileTracingRoot: fileURLToPath(new URL(".", import.meta.url)) };
