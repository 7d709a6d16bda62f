/** The fields of the payload, decoded, for people; the bytes that contain them are shown beside them. */
import { AgentText } from "#components/agent-text";
import { OwnNumber } from "#components/own-number";
import { HashText } from "#components/ui/code-block";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { subjectDigest } from "#lib/protocol/statement/statement";
import { readRequest, toFacts } from "./facts";
import { InputsFile } from "./inputs-file";
import { JsonTable } from "./json-text";

/** A verdict of three values in words. */
function ThreeWay({ value, texts }: { readonly value: boolean | null; readonly texts: readonly string[] }) {
  return <>{value === null ? texts[2] : value ? texts[0] : texts[1]}</>;
}

function identityItems(answer: VerifyResponse): Definition[] {
  return [
    {
      id: "agent_authenticated",
      name: "Agent's identity",
      value: (
        <ThreeWay
          value={answer.agent_authenticated}
          texts={[
            "Signed with the agent's registered key",
            "Not the registered key's signature",
            "Not signed with a registered key",
          ]}
        />
      ),
    },
    {
      id: "code_hash_verified",
      name: "Agent's code",
      value: (
        <ThreeWay
          value={answer.code_hash_verified}
          texts={[
            "Reported hash is the registered one",
            "Reported hash differs from the registered one",
            "Not compared",
          ]}
        />
      ),
    },
    {
      id: "tools_authorized",
      name: "Tools",
      value: (
        <ThreeWay
          value={answer.tools_authorized}
          texts={[
            "All in the registered manifest",
            "Some are not in the registered manifest",
            "Not compared",
          ]}
        />
      ),
    },
    ...(answer.client_gap === null
      ? []
      : [
          {
            id: "client_gap",
            name: "Agent's own count",
            value: answer.client_gap ? "Doesn't follow its last number" : "Follows its last number",
          },
        ]),
  ];
}

/** Authority and trace that the agent's request names; none of a record that failed. */
function chainItems(answer: VerifyResponse): Definition[] {
  const { parent } = toFacts(answer);
  const { traceparent } = answer.valid === true ? readRequest(answer) : {};
  return [
    ...(parent === null
      ? []
      : [
          {
            id: "parent",
            name: "Follows from",
            value: <HashText value={parent.id} label="attestation id" />,
          },
          {
            id: "parent_hash",
            name: "Its payload hash",
            value: <HashText value={parent.payload_hash} label="payload hash of the attestation before" />,
          },
          { id: "parent_log", name: "Its log", value: <AgentText value={parent.origin} isName /> },
        ]),
    ...(typeof traceparent === "string"
      ? [{ id: "traceparent", name: "Trace", value: <HashText value={traceparent} label="traceparent" /> }]
      : []),
  ];
}

function contentItems(answer: VerifyResponse): Definition[] {
  const text = (id: string, name: string, value: string | null): Definition[] =>
    value === null ? [] : [{ id, name, value: <AgentText value={value} /> }];
  return [
    ...text("inputs_hash", "Inputs hash", answer.inputs_hash),
    ...text("model_id", "Model", answer.model_id),
    ...text("code_hash", "Code hash", answer.code_hash),
    ...(answer.client === null
      ? []
      : [{ id: "client", name: "Agent's own number", value: <OwnNumber {...answer.client} /> }]),
    ...(answer.tools_used === null || answer.tools_used.length === 0
      ? []
      : [
          {
            id: "tools_used",
            name: "Tools used",
            value: (
              <ul>
                {[...new Set(answer.tools_used)].map((tool) => (
                  <li key={tool}>
                    <AgentText value={tool} isName />
                  </li>
                ))}
              </ul>
            ),
          },
        ]),
    ...(answer.metadata === null || Object.keys(answer.metadata).length === 0
      ? []
      : [
          {
            id: "metadata",
            name: "Metadata",
            value: <JsonTable object={answer.metadata} caption="Metadata that the agent sent" />,
          },
        ]),
  ];
}

function recordItems(answer: VerifyResponse): Definition[] {
  const recorded = answer.timestamp;
  return [
    {
      id: "id",
      name: "Attestation",
      value: <HashText value={answer.attestation_id} label="attestation id" />,
    },
    {
      id: "agent",
      name: "Agent",
      value: (
        <TextLink href={`/agent/${answer.agent_slug}`}>
          <AgentText value={answer.agent_slug} isName />
        </TextLink>
      ),
    },
    ...(recorded === null
      ? []
      : [{ id: "time", name: "Recorded", value: <Timestamp iso={recorded} relative={false} /> }]),
    {
      id: "payload_hash",
      name: "Payload hash",
      value: <HashText value={answer.payload_hash} label="payload hash" />,
    },
    { id: "signature", name: "Signature", value: <HashText value={answer.signature} label="signature" /> },
    { id: "key", name: "Signing key", value: <HashText value={answer.key_id} label="key id" /> },
    {
      id: "log",
      name: "Log position",
      value: `Entry ${describePlace(answer.log)}, log ${answer.log.origin}`,
    },
  ];
}

/** The log counts from 0, people from 1: its newest entry isn't the one before the last. */
export function describePlace({ index, tree_size }: VerifyResponse["log"]): string {
  const [place, size, zeroBased] = [index + 1, tree_size, index].map((n) => n.toLocaleString("en"));
  return `${place} of ${size} (index ${zeroBased})`;
}

export function DecodedFields({ answer }: { readonly answer: VerifyResponse }) {
  const isHidden = answer.status === "erased";
  const inputs = answer.inputs_hash === null ? undefined : subjectDigest(answer.inputs_hash)["sha256"];
  return (
    <>
      <DefinitionList
        items={[
          ...recordItems(answer),
          ...contentItems(answer),
          ...chainItems(answer),
          ...(isHidden ? [] : identityItems(answer)),
        ]}
      />
      {inputs === undefined ? null : <InputsFile expected={inputs} />}
    </>
  );
}
