/** The control: a foreign process that burns one processor as the proving thread does, at the same priority. */
import { createHash } from "node:crypto";
import { setPriority } from "node:os";

setPriority(10);
let block = Buffer.alloc(1024);
for (;;) block = createHash("sha512").update(block).digest();
