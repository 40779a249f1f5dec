// The thread of an attacker: what it costs to attack is not to be seen in the times of the others.
import { workerData } from 'node:worker_threads';
import { ATTACKS, type Target } from './attacks.js';

const { attack, target } = workerData as { attack: keyof typeof ATTACKS; target: Target };
await ATTACKS[attack](target);
