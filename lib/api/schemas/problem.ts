/** RFC 9457 problem documents (docs/wire.md, Errors). */
import { z } from "zod";

export const problem = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    error: z.string(),
    code: z.string(),
    request_id: z.string(),
    errors: z.array(z.strictObject({ pointer: z.string(), message: z.string() })).optional(),
    retry_after: z.number().int().optional(),
  })
  .meta({ id: "Problem" });

export type Problem = z.infer<typeof problem>;
