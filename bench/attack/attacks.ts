import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { encodeCursor } from '#service/http/lists.js';
import { serverDocument } from '../data/documents.js';
import { listPath } from '../harness/service.js';

/** The attacked service, and the attacker's credentials. */
export interface Target {
  readonly port: number;
  /** A tenant's token: may publish, and sees public entries. */
  readonly token: string;
}

/**
 * Linux assigns all of 127.0.0.0/8 to the loopback interface; elsewhere the attacker shares the others'
 * address.
 */
export const addressOf = (last: number) =>
  process.platform === 'linux' ? { localAddress: `127.0.0.${last}` } : {};
const ATTACKER = addressOf(9);

const PER_SECOND = 20;
/** A 1.2 KB body that expands to 590,000 nested arrays. */
const NESTED = gzipSync(Buffer.from('['.repeat(590_000) + ']'.repeat(590_000)));
const HALF_SENT = 1_500;
const SLOW_READERS = 300;
const LEFT_OPEN = 10_000;
const MADE_UP_TOKENS = 300;
/** Any two teams form a claim set: 19,900 in total. */
export const TEAMS = Array.from({ length: 200 }, (_, team) => `t-${team}`);
/** Prefix of the attacker's entries; sorts last. */
const LARGE_NAMES = 'zz.large/server-';
export const ATTACKERS_NAMES = 'zz.mallory/server-';

/** Each runs until its thread ends and ignores the responses. */
export const ATTACKS = {
  'nested bodies': ({ port }) =>
    forever(PER_SECOND, () => {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      ask({ port, path: '/registry', headers, body: NESTED });
    }),

  'half-sent bodies': async (target) => {
    const send = () => openSocket(target.port).write(`${publication(target)}{"server":`);
    for (let sent = 0; sent < HALF_SENT; sent += 1) send();
    await forever(PER_SECOND, send);
  },

  'claim sets': async (target) => {
    let made = 10_000;
    await forever(PER_SECOND, () => void newClaimSet(target, (made += 1)).catch(() => undefined));
  },

  'changes of one name': async (target) => {
    let change = 0;
    await forever(PER_SECOND, () => {
      relabel(target, `${ATTACKERS_NAMES}one`, (change += 1) % 2, 2).catch(() => undefined);
    });
  },

  'slow readers': async (target) => {
    const one = (number: number) => {
      const socket = openSocket(target.port);
      socket.pause();
      socket.write(
        `GET ${largePage(number)} HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer ${target.token}\r\n\r\n`,
      );
    };
    for (let number = 0; number < SLOW_READERS; number += 1) one(number);
    let number = SLOW_READERS;
    await forever(PER_SECOND, () => one((number += 1)));
  },

  'connections left open': async ({ port }) => {
    for (let opened = 0; opened < LEFT_OPEN; opened += 1) {
      openSocket(port);
      if (opened % 100 === 0) await sleep(1);
    }
    await forever(PER_SECOND, () => void openSocket(port));
  },

  '5 searches a second': (target) => searches(target, 5),
  '40 searches a second': (target) => searches(target, 40),

  'made-up tokens': async ({ port }) => {
    const one = (number: number) => {
      ask({ port, path: listPath({ limit: 30 }), headers: { authorization: `Bearer made-up-${number}` } });
    };
    for (let number = 0; number < MADE_UP_TOKENS; number += 1) one(number);
    let number = MADE_UP_TOKENS;
    await forever(PER_SECOND, () => one((number += 1)));
  },
} satisfies Record<string, (target: Target) => Promise<void>>;

/** Gives one of the attacker's entries a new claim set, by changing its claims or by publishing it. */
export async function newClaimSet(target: Target, number: number): Promise<void> {
  const one = Math.floor(number / (TEAMS.length - 1)) % TEAMS.length;
  const other = (one + 1 + (number % (TEAMS.length - 1))) % TEAMS.length;
  const isNewName = number % 10 === 0;
  await relabel(target, `${ATTACKERS_NAMES}${isNewName ? `of-${number}` : number % 8}`, one, other);
}

// Changes the claims of an entry, or publishes it with these claims if it does not exist.
async function relabel(target: Target, name: string, one: number, other: number): Promise<void> {
  const claims = { team: [TEAMS[one], TEAMS[other]] };
  const path = `/v1/entries/server/${encodeURIComponent(name)}/claims`;
  const status = await statusOf({ ...target, method: 'PUT', path, body: { claims } });
  const body = { server: serverDocument(name, '1.0.0', 1, 1), claims };
  if (status === 404) await statusOf({ ...target, method: 'POST', path: '/v1/entries', body });
}

/** A document of nearly 1 MiB. */
export function largeDocument(number: number): object {
  const name = `${LARGE_NAMES}${number}`;
  const block = { 'com.example.mallory/padding': 'x'.repeat(1_000_000) };
  return { ...serverDocument(name, '1.0.0', number, 1), _meta: block };
}

interface Asked {
  readonly port: number;
  readonly token?: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes are sent verbatim, anything else as JSON. */
  readonly body?: object;
  readonly hangsUpAfterMs?: number;
}

/** Returns the status of the response and discards the body. */
export function statusOf(asked: Asked): Promise<number> {
  return new Promise((resolve, reject) => {
    ask(asked)
      .on('response', ({ statusCode = 0 }: IncomingMessage) => resolve(statusCode))
      .on('error', reject);
  });
}

function ask({ port, token, method = 'GET', path, headers, body, hangsUpAfterMs }: Asked) {
  const payload = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const outgoing = request({
    ...ATTACKER,
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(payload ? { 'content-type': 'application/json', 'content-length': payload.length } : {}),
      ...headers,
    },
  });
  outgoing
    .on('error', () => undefined)
    .on('response', (response) => response.on('error', () => undefined).resume());
  if (hangsUpAfterMs !== undefined) setTimeout(() => outgoing.destroy(), hangsUpAfterMs);
  return outgoing.end(payload);
}

// Every text is new, so no response is cached.
function searches(target: Target, perSecond: number): Promise<void> {
  let number = 0;
  return forever(perSecond, () => {
    const search = [...String(100_000 + (number += 1))].join('~');
    ask({ ...target, path: listPath({ search }), hangsUpAfterMs: 100 });
  });
}

// Every page is different, so none is cached.
function largePage(number: number): string {
  const after = { name: LARGE_NAMES, key: String(number) };
  return listPath({ cursor: encodeCursor('servers', { filter: {}, limit: 100, after }) });
}

function publication({ token }: Target): string {
  const head = ['POST /v1/entries HTTP/1.1', 'Host: r', `Authorization: Bearer ${token}`];
  return [...head, 'Content-Type: application/json', 'Content-Length: 1000', '', ''].join('\r\n');
}

function openSocket(port: number): Socket {
  return connect({ ...ATTACKER, host: '127.0.0.1', port }).on('error', () => undefined);
}

async function forever(perSecond: number, one: () => void): Promise<void> {
  const began = performance.now();
  for (let number = 1; ; number += 1) {
    one();
    await sleep(Math.max(0, began + (number * 1_000) / perSecond - performance.now()));
  }
}
