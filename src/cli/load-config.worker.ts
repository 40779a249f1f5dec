// The worker thread of `ReloadOnSignal`.
import { parentPort, workerData } from 'node:worker_threads';
import type { Flags } from '../config/config.js';
import { configuration } from './check.js';

const { file, flags } = workerData as { file: string; flags: Flags };
let problems = '';
const loaded = configuration(file, flags, (found) => (problems = found));
parentPort?.postMessage(loaded ?? { problems });
