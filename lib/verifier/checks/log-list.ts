/** Keys to trust from the list of logs side by side: each attestation key counts in its own log alone. */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";

/** The answer of GET /v1/pubkey as far as the list has it, or the answer itself. `base`: the service that is asked for. */
export function readKeysOfList(answer: JsonObject, base: string | undefined): JsonObject {
  const { operators } = answer;
  if (!Array.isArray(operators)) return answer;
  const lists = operators.filter(isJsonObject).map((operator) => operator["tiled_logs"]);
  const logs = lists.flatMap((list): JsonValue[] => (Array.isArray(list) ? list : [])).filter(isJsonObject);
  const isUsable = ({ state }: JsonObject) => isJsonObject(state) && "usable" in state;
  const usable = logs.filter(isUsable);
  const log = usable.find(({ submission_url: url }) => url === `${base}/`) ?? usable[0] ?? {};
  const keys = logs.flatMap(({ attestation_keys: listed, origin }): JsonObject[] =>
    (Array.isArray(listed) ? listed : [])
      .filter(isJsonObject)
      .map((key) => ({ ...key, log_origin: origin ?? "" })),
  );
  return { log: { ...log, url: log["monitoring_url"] ?? "" }, logs, keys };
}
