// Runs the attack in a separate thread, so that its cost does not affect the measured times.
import { workerData } from 'node:worker_threads';
import { ATTACKS, type Target } from './attacks.js';

const { attack, target } = workerData as { attack: keyof typeof ATTACKS; target: Target };
await ATTACKS[attack](target);
