/** A JSON value that an agent supplied: strings as they are, everything else as JSON, all of it visible text. */
import { AgentText } from "#components/agent-text";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";

function JsonText({ value }: { readonly value: JsonValue }) {
  return <AgentText value={typeof value === "string" ? value : JSON.stringify(value)} />;
}

export function JsonTable({ object, caption }: { readonly object: JsonObject; readonly caption: string }) {
  return (
    <table className="w-full text-left text-[15px]">
      <caption className="sr-only">{caption}</caption>
      <tbody>
        {Object.entries(object).map(([name, value]) => (
          <tr key={name} className="border-line border-b last:border-0">
            <th scope="row" className="w-2/5 py-1.5 pr-3 align-top font-medium">
              <AgentText value={name} isName />
            </th>
            <td className="py-1.5 align-top">
              <JsonText value={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
