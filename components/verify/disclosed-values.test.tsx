import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { DISCLOSURE_SCHEMA } from "#lib/protocol/presentation/disclosure";
import { DisclosedValues } from "./disclosed-values";

it("says in words what a proof discloses, also what the record doesn't have", () => {
  const proof = {
    type: "bbs-selective-disclosure/1",
    ciphersuite: "c",
    schema: DISCLOSURE_SCHEMA,
    kid: "kid",
    public_key: "key",
    header: "h",
    presentation_header: "p",
    proof: "proof",
    total_messages: 24,
    disclosed: {
      "6": '["agent_slug","null"]',
      "16": '["code_hash_verified",null]',
      "17": '["tools_authorized",false]',
    },
  };
  const html = renderToStaticMarkup(<DisclosedValues proof={proof} status="pass" />);
  const values = [...html.matchAll(/<dd[^>]*>(.*?)<\/dd>/g)].map(([, value = ""]) =>
    value.replaceAll(/<[^>]*>/g, ""),
  );
  expect(values).toEqual(["null", "none", "no"]);
  // Presentations count hidden fields too.
  expect(html.replaceAll(/<[^>]*>/g, "")).toContain("these 3 of 23 fields");
});
