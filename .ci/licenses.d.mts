interface Locked {
  version: string;
  license?: string;
  integrity?: string;
  dev?: boolean;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}
/** Keyed by place, like package-lock.json. */
type LockedPackages = Record<string, Locked>;
interface License {
  name: string;
  version: string;
  license: string;
  reason?: string;
  isFine: boolean;
}
export function readLockedPackages(): LockedPackages & { "": Locked };
export function listLicenses(packages: object): License[];
export function encodeLicenses(rows: License[]): string;
