/** Runs the operations of SCIM 2.0 (lib/api/operations/agents.ts). */
import type { KeyPrincipal } from "#lib/api/http/context";
import type { Handlers, Reply } from "#lib/api/http/pipeline";
import { scimMediaType } from "#lib/api/http/problem";
import type { scimOperations as specs } from "#lib/api/operations/agents";
import {
  listUrn,
  maxScimResults,
  type ScimKind,
  type ScimListQuery,
  type ScimOperation,
  type ScimPick,
  scimKinds,
} from "#lib/api/schemas/scim";
import { AppError } from "#lib/errors";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { AccountsContext } from "#lib/services/accounts/context";
import { findResource, readResources, writeGroup, writeUser } from "./directory";
import { createFilter, patchResource, pickAttributes, readResource } from "./resource";

const answer = (body: JsonObject, status = 200, headers: Reply["headers"] = {}): Reply => ({
  body,
  status,
  headers: { "content-type": scimMediaType, ...headers },
});

const list = (resources: JsonObject[], total = resources.length, startIndex = 1): Reply =>
  answer({
    schemas: [listUrn],
    totalResults: total,
    itemsPerPage: resources.length,
    startIndex,
    Resources: resources,
  });

/* Discovery. */

const kindNames = Object.keys(scimKinds) as ScimKind[];
const place = ({ settings }: AccountsContext, path: string) => `${settings.baseUrl}/scim/v2${path}`;
const supported = (isSupported: boolean) => ({ supported: isSupported });

const describeService = (context: AccountsContext): JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
  documentationUri: `${context.settings.baseUrl}/docs/run-your-own#directory`,
  patch: supported(true),
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxScimResults },
  changePassword: supported(false),
  sort: supported(false),
  etag: supported(false),
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "API key",
      description: "An API key with the permission scim, as a bearer token",
    },
  ],
  meta: { resourceType: "ServiceProviderConfig", location: place(context, "/ServiceProviderConfig") },
});

const describeType = (context: AccountsContext, name: ScimKind): JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
  id: name,
  name,
  endpoint: scimKinds[name].path,
  description: scimKinds[name].description,
  schema: scimKinds[name].urn,
  meta: { resourceType: "ResourceType", location: place(context, `/ResourceTypes/${name}`) },
});

const describeSchema = (context: AccountsContext, name: ScimKind): JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
  id: scimKinds[name].urn,
  name,
  description: scimKinds[name].description,
  attributes: scimKinds[name].attributes as unknown as JsonValue,
  meta: { resourceType: "Schema", location: place(context, `/Schemas/${scimKinds[name].urn}`) },
});

function requireKind(isIt: (name: ScimKind) => boolean): ScimKind {
  const found = kindNames.find(isIt);
  if (found === undefined) throw new AppError("not_found", "nothing exists with this id");
  return found;
}

/* Resources. */

interface Asked {
  context: AccountsContext;
  principal: KeyPrincipal;
}

function createHandlers(kind: ScimKind) {
  const write = kind === "User" ? writeUser : writeGroup;
  /** Answers with the stored resource, also if somebody has changed it since. */
  const show = async ({ context, principal }: Asked, id: string | null, status = 200) => {
    const resource = await findResource(context, principal, kind, id ?? "");
    const location = String((resource["meta"] as JsonObject)["location"]);
    return answer(resource, status, { location });
  };
  return {
    create: async (call: Asked & { body: JsonObject }) => {
      const sent = readResource(kind, call.body);
      return show(call, await write(call.context, call.principal, null, () => sent), 201);
    },
    list: async ({ context, principal, query }: Asked & { query: ScimListQuery }) => {
      const isWanted = query.filter === undefined ? () => true : createFilter(kind, query.filter);
      const found = (await readResources(context, principal, kind)).filter(isWanted);
      const page = found.slice(query.startIndex - 1, query.startIndex - 1 + query.count);
      return list(
        page.map((one) => pickAttributes(one, query)),
        found.length,
        query.startIndex,
      );
    },
    read: async ({
      context,
      principal,
      params,
      query,
    }: Asked & { params: { id?: string }; query: ScimPick }) =>
      answer(pickAttributes(await findResource(context, principal, kind, params.id ?? ""), query)),
    replace: async (call: Asked & { params: { id?: string }; body: JsonObject }) => {
      const sent = readResource(kind, call.body);
      // Deactivated people are activated only by a request that says so.
      const make = (now: JsonObject | null) => ({
        ...(now && "active" in now && { active: now["active"] ?? false }),
        ...sent,
      });
      return show(call, await write(call.context, call.principal, call.params.id ?? "", make));
    },
    patch: async (call: Asked & { params: { id?: string }; body: { operations: ScimOperation[] } }) => {
      const make = (now: JsonObject | null) => patchResource(kind, now ?? {}, call.body.operations);
      return show(call, await write(call.context, call.principal, call.params.id ?? "", make));
    },
    remove: async ({ context, principal, params }: Asked & { params: { id?: string } }) => {
      await write(context, principal, params.id ?? "", () => null);
      return new Response(null, { status: 204 });
    },
  };
}

const ofUsers = createHandlers("User");
const ofGroups = createHandlers("Group");

export const directoryHandlers: Handlers<typeof specs, AccountsContext> = {
  describeScim: async ({ context }) => answer(describeService(context)),
  listResourceTypes: async ({ context }) => list(kindNames.map((name) => describeType(context, name))),
  readResourceType: async ({ context, params }) =>
    answer(
      describeType(
        context,
        requireKind((name) => name === params["id"]),
      ),
    ),
  listScimSchemas: async ({ context }) => list(kindNames.map((name) => describeSchema(context, name))),
  readScimSchema: async ({ context, params }) =>
    answer(
      describeSchema(
        context,
        requireKind((name) => scimKinds[name].urn === params["id"]),
      ),
    ),
  createDirectoryUser: ofUsers.create,
  listDirectoryUsers: ofUsers.list,
  readDirectoryUser: ofUsers.read,
  replaceDirectoryUser: ofUsers.replace,
  patchDirectoryUser: ofUsers.patch,
  removeDirectoryUser: ofUsers.remove,
  createDirectoryGroup: ofGroups.create,
  listDirectoryGroups: ofGroups.list,
  readDirectoryGroup: ofGroups.read,
  replaceDirectoryGroup: ofGroups.replace,
  patchDirectoryGroup: ofGroups.patch,
  removeDirectoryGroup: ofGroups.remove,
};
