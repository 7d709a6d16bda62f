/** The request log's filters, in the address of its page. */
import { z } from "zod";
import { textOf } from "./primitives";

/** A filter that is empty or makes no sense is no filter. */
const filter = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

/** By the first digit of the status. */
const statusClasses = ["2", "4", "5"] as const;

/** Looked for whatever it is: what no code or id can be is not found. */
const text = filter(z.string().trim().pipe(textOf(1, 100)));

export const requestFilters = z.object({
  status: filter(z.enum(statusClasses)),
  key: filter(z.uuid()),
  code: text,
  id: text,
});
export type RequestFilters = z.output<typeof requestFilters>;
