import { operation, otherMethods } from "#lib/app/next-routes";

export const POST = operation("claimAuthorization");
export const { DELETE, GET, HEAD, OPTIONS, PATCH, PUT } = otherMethods;
