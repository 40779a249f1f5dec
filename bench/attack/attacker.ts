// The attacker's thread: keeps the cost of attacking out of the others' times.
import { workerData } from 'node:worker_threads';
import { ATTACKS, type Target } from './attacks.js';

const { attack, target } = workerData as { attack: keyof typeof ATTACKS; target: Target };
await ATTACKS[attack](target);
