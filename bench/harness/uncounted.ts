// Preloaded into a measured process (`node --import`): disables request metrics, as a baseline.
import { Counter, Histogram } from 'prom-client';

const nothing = () => undefined;
Object.assign(Histogram.prototype, { observe: nothing, observeWithoutExemplar: nothing });
Object.assign(Counter.prototype, { inc: nothing, incWithoutExemplar: nothing });
