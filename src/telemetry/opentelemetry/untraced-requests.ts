import { EventEmitter } from 'node:events';
import { type IncomingMessage, Server } from 'node:http';

/**
 * Lets requests that are in no trace go past the instrumentation of HTTP, which would make a context for each of them and bind the
 * request and its answer to it. To be called once, when the instrumentation is there.
 *
 * @param isUntraced is asked once for each request.
 */
export function passUntraced(isUntraced: (request: IncomingMessage) => boolean): void {
  const traced = Reflect.get(Server.prototype, 'emit') as typeof EventEmitter.prototype.emit;
  const untraced = Reflect.get(EventEmitter.prototype, 'emit') as typeof traced;
  Server.prototype.emit = function (this: Server, event: string | symbol, ...args: unknown[]) {
    const goesPast = event === 'request' && isUntraced(args[0] as IncomingMessage);
    return (goesPast ? untraced : traced).call(this, event, ...args);
  };
}
