import { writeFileSync } from 'node:fs';
import type { Config } from '../../config/config.js';
import { readCatalogue } from './catalogue.js';
import { judge, readExpectations, type Verdict } from './expectations.js';
import { junitXml } from './junit.js';
import { OfflineAccess } from './offline-access.js';

const MAX_NAME_WIDTH = 60;

/**
 * contract §10: holds a configuration to what is expected of callers. Exit code 0, or 1 when something is not as expected.
 *
 * @param junit where to write the same as JUnit XML.
 */
export async function checkAccess(config: Config, file: string, junit: string | undefined): Promise<number> {
  const { expectations, problems } = readExpectations(file);
  if (problems.length > 0) {
    process.stderr.write(`${file}:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
    return 1;
  }
  const catalogue = await readCatalogue(config);
  const access = new OfflineAccess(config, catalogue);
  const verdicts = expectations.map((expected) => judge(access, expected));
  process.stdout.write(`${table(verdicts)}\n`);
  const failed = verdicts.filter(({ failures }) => failures.length > 0).length;
  process.stdout.write(
    `${file}: ${verdicts.length - failed} passed, ${failed} failed, ${catalogue.origin}\n`,
  );
  if (junit !== undefined) writeFileSync(junit, junitXml(file, verdicts));
  return failed === 0 ? 0 : 1;
}

function table(verdicts: readonly Verdict[]): string {
  const width = Math.min(MAX_NAME_WIDTH, Math.max(0, ...verdicts.map(({ name }) => name.length)));
  return verdicts
    .flatMap(({ name, registry, failures }) => [
      `${failures.length === 0 ? 'pass' : 'FAIL'}  ${name.padEnd(width)}  ${registry}`,
      ...failures.map((failure) => `      ${failure}`),
    ])
    .join('\n');
}
