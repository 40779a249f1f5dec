// Loaded into a measured process (`node --import`): a service that counts nothing of a request, to hold one that does against.
import { Counter, Histogram } from 'prom-client';

const nothing = () => undefined;
Object.assign(Histogram.prototype, { observe: nothing, observeWithoutExemplar: nothing });
Object.assign(Counter.prototype, { inc: nothing, incWithoutExemplar: nothing });
