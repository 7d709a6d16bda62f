/**
 * Makes a clone ready: installs from the lockfile and builds, each only when it is stale. Runs before `npm start` and
 * `npm test`, where node_modules may be missing: until the install is done it uses nothing but Node itself.
 *
 *   node .ci/prepare.mjs build|test [--force]
 *
 * `build` installs development packages only when it has to build, so a production install (`npm ci --omit=dev` after
 * a build) starts as it is. Two prepares at once wait for each other.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
