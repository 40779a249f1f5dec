// Sends reads and publications at a steady rate, regardless of earlier responses.
import http from 'node:http';
import { loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { aServer } from './programs.mjs';

const LIST = '/registry/main/v0.1/servers';

export class Load {
  /** Responses: `{ at, tookMs, published?, status, text, replica? }`; status 0 means no response. */
  answers = [];
  isRunning = true;
  agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
  pending = 0;
  loads = [];

  /**
   * @param portOf returns the port for the request with this number.
   * @param publicationEvery number of requests per publication.
   * @param names names of the servers to read.
   */
  constructor({ portOf, rate, publicationEvery, names }) {
    Object.assign(this, { portOf, rate, publicationEvery, names });
    this.ended = this.run();
  }

  async run() {
    const began = performance.now();
    let sent = 0;
    while (this.isRunning || this.pending > 0) {
      const due = this.isRunning ? ((performance.now() - began) / 1_000) * this.rate : 0;
      while (sent < due) {
        if (sent % (this.rate * 5) === 0) this.loads.push(loadavg()[0]);
        this.send(sent++);
      }
      await pause(5);
    }
  }

  /** Resolves once every request has ended. */
  async stop() {
    this.isRunning = false;
    await this.ended;
    this.agent.destroy();
  }

  send(number) {
    const published = number % this.publicationEvery === 0 ? `io.acme/p-${number}` : undefined;
    const body = published && JSON.stringify({ server: aServer(published) });
    const headers = body ? { 'content-type': 'application/json', 'content-length': body.length } : {};
    const [method, path] = body ? ['POST', '/v1/entries'] : ['GET', this.pathOf(number)];
    const at = Date.now();
    this.pending += 1;
    const end = (status, text, replica) => {
      this.pending -= 1;
      this.answers.push({
        at,
        tookMs: Date.now() - at,
        method,
        published,
        status,
        text: text.slice(0, 200),
        replica,
      });
    };
    const options = {
      host: '127.0.0.1',
      port: this.portOf(number),
      agent: this.agent,
      method,
      path,
      headers,
    };
    http
      .request(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        response.on('end', () => end(response.statusCode, text, response.headers['x-replica']));
        response.on('error', (error) => end(0, error.message, response.headers['x-replica']));
      })
      .on('error', (error) => end(0, error.message))
      .end(body);
  }

  pathOf(number) {
    const name = this.names[number % this.names.length];
    return name && number % 2 ? `${LIST}/${encodeURIComponent(name)}/versions/latest` : `${LIST}?limit=10`;
  }

  get failed() {
    return this.answers.filter(({ status }) => status < 200 || status > 299);
  }

  /** Acknowledged publications missing from this port's list. */
  async missing(port) {
    const there = new Set();
    for (let cursor; cursor !== null;) {
      const query = `&search=io.acme/p-${cursor ? `&cursor=${cursor}` : ''}`;
      const answer = await globalThis.fetch(`http://127.0.0.1:${port}${LIST}?limit=100${query}`);
      const { servers, metadata } = await answer.json();
      for (const { server } of servers) there.add(server.name);
      cursor = metadata.nextCursor ?? null;
    }
    return this.acknowledged.filter((name) => !there.has(name));
  }

  get acknowledged() {
    return this.answers.flatMap(({ status, published }) => (published && status === 201 ? [published] : []));
  }

  /** Minimum and maximum of the 1-minute load average during the run. */
  get machineLoad() {
    return `${Math.min(...this.loads).toFixed(1)} to ${Math.max(...this.loads).toFixed(1)}`;
  }
}

/** Counts the responses by status and error code. */
export function countsOf(answers) {
  const counts = {};
  for (const { status, text } of answers) {
    const code = status < 300 ? undefined : /"code":"(\w+)"/.exec(text)?.[1];
    const key = [status, code].filter((part) => part !== undefined).join(' ');
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return JSON.stringify(counts);
}
