import { dispatch } from "#lib/http/operations";

export const POST = (request: Request) => dispatch(request);
