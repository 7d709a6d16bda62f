/** For tests: the outside world of domains, on this machine: a name server, and a web server that stands for every host. */
import type { DomainProbe } from "#lib/services/accounts/context";
import { fetchProofFile, proofLine, recordName } from "#lib/services/accounts/domains";
import { type NameServer, startNameServer } from "./name-server";
import { type Receiver, startReceiver } from "./webhook-receiver";

export interface DomainWorld {
  names: NameServer;
  web: Receiver;
  probe: DomainProbe;
  publish(domain: string, token: string): void;
  close(): Promise<void>;
}

export async function startDomainWorld(): Promise<DomainWorld> {
  const names = await startNameServer();
  const web = await startReceiver(() => ({ status: 404 }));
  return {
    names,
    web,
    probe: {
      resolveTxt: names.resolveTxt,
      fetchFile: (url) =>
        fetchProofFile(new URL(new URL(url).pathname, web.url).href, { mayBeLoopback: true }),
    },
    publish: (domain, token) => names.records.set(recordName(domain), [proofLine(token)]),
    close: async () => {
      names.close();
      await web.close();
    },
  };
}
