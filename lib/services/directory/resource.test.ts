/** Patches and filters as RFC 7644 has them, and as Entra ID and Okta send them. */
import { describe, expect, it } from "vitest";
import { scimPatchBody, scimShapes } from "#lib/api/schemas/scim";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { createFilter, patchResource, pickAttributes, readResource } from "./resource";

const ada = {
  userName: "ada@corp.example",
  externalId: "00u1AbC",
  active: true,
  name: { givenName: "Ada", familyName: "Smith" },
  emails: [
    { value: "ada@corp.example", type: "work", primary: true },
    { value: "ada@home.example", type: "home" },
  ],
};
const group = { displayName: "Finance", members: [{ value: "a" }, { value: "b" }] };
const urn = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

function patch(kind: "User" | "Group", ...Operations: object[]): JsonObject {
  const schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];
  const { operations } = scimPatchBody.parse({ schemas, Operations });
  return patchResource(kind, kind === "User" ? ada : group, operations);
}

describe("a resource", () => {
  it("is read whatever the case of its names, and nothing of it that isn't kept or is the service's", () => {
    const sent = {
      SCHEMAS: [urn],
      id: "x",
      USERNAME: "ada",
      Name: { GIVENNAME: "Ada", honorificPrefix: "Ms" },
      emails: [{ Value: "ada@corp.example", Primary: "True" }, null],
      title: "CFO",
      groups: [{ value: "g" }],
      displayName: null,
      [enterprise]: { department: "x" },
    };
    const read = readResource(
      "User",
      JSON.parse(`{"__proto__":{"active":false},${JSON.stringify(sent).slice(1)}`),
    );
    expect(read).toEqual({
      userName: "ada",
      name: { givenName: "Ada" },
      emails: [{ value: "ada@corp.example", primary: "True" }],
    });
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  it.each([
    [{ active: "False" }, false],
    [{ active: "true" }, true],
    [{}, true],
  ])("reads %j as Entra ID means it", (sent, active) => {
    expect(scimShapes.User.parse({ userName: "a", ...sent }).active).toBe(active);
  });
});

describe("a patch", () => {
  const emails = (...more: object[]) => [ada.emails[0], ...more];
  it.each<[string, object[], object]>([
    ["Okta's deactivation", [{ op: "replace", value: { active: false } }], { active: false }],
    ["Entra ID's deactivation", [{ op: "Replace", path: "active", value: "False" }], { active: "False" }],
    ["a path with the schema", [{ op: "replace", path: `${urn}:userName`, value: "x" }], { userName: "x" }],
    [
      "dotted names without a path",
      [
        {
          op: "Add",
          value: { "name.givenName": "A", [`${urn}:displayName`]: "B", id: "1", [enterprise]: {} },
        },
      ],
      { name: { givenName: "A", familyName: "Smith" }, displayName: "B" },
    ],
    [
      "a part",
      [{ op: "replace", path: "NAME.FamilyName", value: "Jones" }],
      { name: { givenName: "Ada", familyName: "Jones" } },
    ],
    [
      "merging",
      [{ op: "replace", path: "name", value: { familyName: "J" } }],
      { name: { givenName: "Ada", familyName: "J" } },
    ],
    ["removing a part", [{ op: "remove", path: "name.givenName" }], { name: { familyName: "Smith" } }],
    [
      "a selected part",
      [{ op: "replace", path: 'emails[type eq "HOME"].value', value: "a@x.example" }],
      { emails: emails({ value: "a@x.example", type: "home" }) },
    ],
    [
      "what a selection doesn't find, as Entra ID adds it",
      [{ op: "Add", path: 'emails[type eq "other"].value', value: "o@x.example" }],
      { emails: [...ada.emails, { type: "other", value: "o@x.example" }] },
    ],
    ["removing what is selected", [{ op: "remove", path: 'emails[type eq "home"]' }], { emails: emails() }],
    [
      "another primary one",
      [{ op: "add", path: "emails", value: [{ value: "n@x.example", primary: true }] }],
      {
        emails: [
          { ...ada.emails[0], primary: false },
          ada.emails[1],
          { value: "n@x.example", primary: true },
        ],
      },
    ],
    [
      "attributes that aren't kept",
      [
        { op: "replace", path: `${enterprise}:department`, value: "x" },
        { op: "add", path: "title", value: "x" },
      ],
      {},
    ],
    [
      "what the service sets, sent as a whole",
      [{ op: "replace", value: { id: "1", meta: {}, groups: [] } }],
      {},
    ],
  ])("is applied: %s", (_, operations, changed) => {
    expect(patch("User", ...operations)).toEqual({ ...ada, ...changed });
  });

  it.each<[string, object, string[]]>([
    [
      "adding one that is there",
      { op: "add", path: "members", value: [{ value: "b" }, { value: "c" }] },
      ["a", "b", "c"],
    ],
    ["a bare identifier", { op: "add", path: "members", value: "c" }, ["a", "b", "c"]],
    ["removing by filter", { op: "remove", path: 'members[value eq "a"]' }, ["b"]],
    ["removing by value", { op: "Remove", path: "members", value: [{ value: "b" }] }, ["a"]],
    ["removing all", { op: "remove", path: "members" }, []],
    ["replacing", { op: "replace", path: "members", value: [{ value: "z", display: "Z" }] }, ["z"]],
  ])("changes members: %s", (_, operation, members) => {
    expect(patch("Group", operation)).toEqual({ ...group, members: members.map((value) => ({ value })) });
  });

  it.each([
    [{ op: "replace", path: "name[x", value: 1 }, "invalidPath"],
    [{ op: "replace", path: 'name[givenName eq "a"]', value: 1 }, "invalidPath"],
    [{ op: "remove" }, "noTarget"],
    [{ op: "replace", path: 'emails[type pr and value eq "no"].value', value: "x" }, "noTarget"],
    [{ op: "replace", path: "emails[type qq].value", value: "x" }, "invalidFilter"],
    [{ op: "replace", path: "id", value: "x" }, "mutability"],
    [{ op: "add", path: "groups", value: [] }, "mutability"],
    [{ op: "remove", path: "active" }, "mutability"],
    [{ op: "replace", path: "active", value: null }, "mutability"],
    [{ op: "replace", value: { active: null } }, "mutability"],
    [{ op: "remove", path: "userName" }, "mutability"],
  ])("is refused: %j", (operation, scimType) => {
    expect(() => patch("User", operation)).toThrow(expect.objectContaining({ scimType }));
  });

  it("reaches nothing but the resource", () => {
    for (const path of ["__proto__.polluted", "constructor.prototype.polluted", "name.__proto__"])
      expect(
        patch("User", { op: "add", path, value: "yes" }, { op: "add", value: { [path]: "yes" } }),
      ).toEqual(ada);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("a filter", () => {
  const kept = { groups: [], nickName: "CORP\\ada", meta: { lastModified: "2026-11-29T08:30:00.000Z" } };
  it.each([
    ['userName eq "ADA@corp.example"', true],
    [`${urn}:userName eq "ada@corp.example"`, true],
    ['externalId eq "00u1AbC"', true],
    ['externalId eq "00U1ABC"', false],
    ['emails[type eq "work" and value co "corp"]', true],
    ['emails.value eq "ada@HOME.example"', true],
    ['active eq true and not (userName sw "b")', true],
    ['emails[type eq "work" and value co "home"]', false],
    ['emails[not (type eq "work") and value co "HOME"]', true],
    ['emails[type eq "work"].value eq "ada@corp.example"', true],
    ['emails[type eq "work"].value eq "ada@home.example"', false],
    ['not (emails[type eq "work" or type eq "x"].value sw "b") and active eq true', true],
    ['userName eq "\\u0061da@corp.example"', true],
    ['nickName eq "CORP\\\\ada"', true],
    ['nickName eq "CORP\\ada"', true],
    [`nickName ne "${urn}:x" and nickName co "p"`, true],
    ['meta.lastModified gt "2026-11-29T10:00:00+02:00"', true],
    ['meta.lastModified eq "2026-11-29T08:30:00Z"', true],
    ["displayName pr", false],
    ["displayName eq null", false],
    ["__proto__ pr or emails[constructor pr]", false],
    ['USERNAME EQ "ada@corp.example" AND NOT (Active eq false)', true],
    ['emails co "HOME.example"', true],
    ['emails eq "ada@home"', false],
    ["EMAILS pr", true],
    ["groups pr", false],
    ['nothing eq "x" or userName ew "EXAMPLE"', true],
  ])("%s: %s", (text, matches) => {
    expect(createFilter("User", text)({ ...ada, ...kept })).toBe(matches);
  });
  it.each([
    "",
    "userName",
    'userName qq "a"',
    '(userName eq "a"',
    "userName eq ada",
    'userName eq "a\nb"',
    'emails[type eq "work"].value',
    'userName eq "a',
  ])("refuses %j", (text) =>
    expect(() => createFilter("User", text)).toThrow(expect.objectContaining({ scimType: "invalidFilter" })),
  );
});

it("shows the attributes that are asked for, and always who it is", () => {
  const whole = { schemas: [urn], id: "1", ...ada };
  const pick = (attributes?: string[], excludedAttributes?: string[]) =>
    Object.keys(pickAttributes(whole, { attributes, excludedAttributes }));
  expect(pick(["username", "name.givenname"])).toEqual(["schemas", "id", "userName", "name"]);
  expect(pick([`${urn}:active`.toLowerCase()])).toEqual(["schemas", "id", "active"]);
  expect(pick(undefined, ["emails", "id"])).toEqual([
    "schemas",
    "id",
    "userName",
    "externalId",
    "active",
    "name",
  ]);
});
