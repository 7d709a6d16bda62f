/** The request log's filters, in the address of its page. */
import { z } from "zod";

/** A filter that is empty or makes no sense is no filter. */
const filter = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

/** By the first digit of the status. */
export const statusClasses = ["2", "4", "5"] as const;

export const requestFilters = z.object({
  status: filter(z.enum(statusClasses)),
  key: filter(z.uuid()),
  code: filter(z.string().regex(/^[a-z_]{1,60}$/)),
  id: filter(
    z
      .string()
      .trim()
      .regex(/^req_[0-9a-f]{24}$/),
  ),
});
export type RequestFilters = z.output<typeof requestFilters>;
