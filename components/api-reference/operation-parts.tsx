/** The parts of an operation that a reader looks for. */
import type { Operation, Schema } from "./document";

/** Parameters as the fields of one object; null if there are none. */
export function findParameters({ parameters }: Operation): Schema | null {
  if (parameters.length === 0) return null;
  return {
    properties: Object.fromEntries(
      parameters.map((one) => [
        one.name,
        { ...one.schema, description: `in ${one.in}${one.description ? `: ${one.description}` : ""}` },
      ]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  };
}

export interface Success {
  /** "201", or "200 or 201". */
  readonly statuses: string;
  readonly mediaType: string;
  readonly isJson: boolean;
  readonly schema: Schema | undefined;
}

export function findSuccess({ responses }: Operation): Success {
  const good = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const response = good[0]?.[1];
  const [mediaType = "", content] = Object.entries(response?.content ?? {})[0] ?? [];
  const statuses = good.map(([status]) => status).join(" or ");
  return { statuses, mediaType, isJson: mediaType === "application/json", schema: content?.schema };
}
