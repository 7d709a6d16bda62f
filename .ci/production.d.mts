export function listProduction(packages: Record<string, object>): Set<string>;
export function listProductionNames(root: { dependencies: Record<string, string> }): string[];
