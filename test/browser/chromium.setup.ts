import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the browser is, which all files share: each person has a context of their own in it. */
    browser: string;
  }
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const ELSEWHERE = [
  '/usr/bin/chromium',
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts the browser; without one there is nothing to test. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // In a container there is often no user but root, as whom Chromium runs without a sandbox only.
  const server = await chromium.launchServer({ executablePath: found(), chromiumSandbox: false });
  project.provide('browser', server.wsEndpoint());
  return () => server.close();
}

function found(): string {
  try {
    return findChromium();
  } catch (error) {
    // Thrown on, the sentence would stand below a stack and "No test files found".
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}

function findChromium(): string {
  const told = process.env['CHROMIUM'];
  if (told) {
    if (isProgram(told)) return told;
    throw new Error(`CHROMIUM names ${told}, which is no program that can be run`);
  }
  const onPath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = [...onPath, ...ELSEWHERE].find(isProgram);
  if (found === undefined)
    throw new Error('No Chromium was found: install one, or set CHROMIUM to the path of its program');
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
