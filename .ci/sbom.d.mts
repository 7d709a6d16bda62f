interface Component {
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  licenses: object[];
  hashes: { alg: string; content: string }[];
}
interface Bom {
  bomFormat: string;
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}
export function makeSbom(): Bom;
