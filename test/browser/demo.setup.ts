import type { TestProject } from 'vitest/node';
import { DemoProcess } from './demo-process.js';

declare module 'vitest' {
  export interface ProvidedContext {
    demo: { readonly origin: string; readonly tokens: Readonly<Record<string, string>> };
  }
}

const USERS = ['ada', 'max', 'pia', 'dev', 'ext'];

/** One demo for all files: its start takes longer than most of them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const demo = new DemoProcess();
  await demo.start();
  const tokens = Object.fromEntries(USERS.map((user) => [user, demo.tokenOf(user)]));
  project.provide('demo', { origin: demo.origin, tokens });
  return async () => {
    const code = await demo.stop();
    if (code !== 0) throw new Error(`The demo ended with ${code}:\n${demo.output}`);
  };
}
