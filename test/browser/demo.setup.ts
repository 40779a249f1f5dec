import type { TestProject } from 'vitest/node';
import { DemoProcess } from './demo-process.js';

declare module 'vitest' {
  export interface ProvidedContext {
    demo: { readonly origin: string; readonly tokens: Readonly<Record<string, string>> };
  }
}

const USERS = ['ada', 'max', 'pia', 'dev', 'ext'];

/** Starts one demo for all test files, because starting it is slow. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const demo = new DemoProcess();
  await demo.start();
  const tokens = Object.fromEntries(USERS.map((user) => [user, demo.tokenOf(user)]));
  project.provide('demo', { origin: demo.origin, tokens });
  return async () => {
    const code = await demo.stop();
    if (code !== 0) throw new Error(`The demo exited with ${code}:\n${demo.output}`);
  };
}
