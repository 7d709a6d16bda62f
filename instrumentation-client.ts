/**
 * Runs in the browser before any of a page's code. Zod asks whether it may compile code, and our policy forbids that: the
 * question alone is a violation of it, which Firefox reports on every page with a form.
 */
import type { z } from "zod";

Object.assign(globalThis, { __zod_globalConfig: { jitless: true } satisfies z.core.$ZodConfig });
