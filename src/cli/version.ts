import { buildReport } from '../config/environment.js';
import { versionReport } from '../health/internal-server.js';

/** What `--version` prints (contract §1), such as `0.1.0 (commit 1cd2cb2…)`. */
export function versionLine(): string {
  const { version, commit } = versionReport(buildReport());
  return `${version} (commit ${commit})`;
}
