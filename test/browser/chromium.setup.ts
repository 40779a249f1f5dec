import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** WebSocket endpoint of the browser that all test files share. */
    browser: string;
  }
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const WELL_KNOWN_PATHS = [
  '/usr/bin/chromium',
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts the browser. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Containers often run as root, and Chromium then works only without its sandbox.
  const server = await chromium.launchServer({ executablePath: chromiumOrExit(), chromiumSandbox: false });
  project.provide('browser', server.wsEndpoint());
  return () => server.close();
}

function chromiumOrExit(): string {
  try {
    return findChromium();
  } catch (error) {
    // Rethrowing would bury the message below a stack trace and "No test files found".
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}

function findChromium(): string {
  const configured = process.env['CHROMIUM'];
  if (configured) {
    if (isExecutable(configured)) return configured;
    throw new Error(`CHROMIUM is ${configured}, which is not an executable file`);
  }
  const onPath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = [...onPath, ...WELL_KNOWN_PATHS].find(isExecutable);
  if (found === undefined)
    throw new Error('Chromium not found: install it, or set CHROMIUM to the path of its executable');
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
