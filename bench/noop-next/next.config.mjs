/** The yardstick for Next: a route handler that does nothing. */
import { fileURLToPath } from "node:url";

export default { outputFileTracingRoot: fileURLToPath(new URL(".", import.meta.url)) };
