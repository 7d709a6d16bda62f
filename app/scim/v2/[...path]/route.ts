/** SCIM 2.0 in Next: the table of operations answers all of it. */
import { otherMethods } from "#lib/server/next/api-route";

export const { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
