import { operation, otherMethods } from "#lib/runtime/server/next-routes";

export const DELETE = operation("cancelAuthorization");
export const GET = operation("readAuthorization");
export const { HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
