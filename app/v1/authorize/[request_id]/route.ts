import { operation, otherMethods } from "#lib/server/next/api-route";

export const DELETE = operation("cancelAuthorization");
export const GET = operation("readAuthorization");
export const { HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
