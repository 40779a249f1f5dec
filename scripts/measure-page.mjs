/* global document, window, Event, fetch, performance, PerformanceObserver, requestAnimationFrame */
// Measures the web UI with a catalog of 100,000 servers: size of the first load, largest contentful paint with the CPU
// slowed down four times, delay from the last keystroke to the search results, and smoothness of scrolling to the end.
// Run `npm run build` first, then `node scripts/measure-page.mjs [--entries 100000]`. Uses the Chromium in CHROMIUM, or
// /usr/bin/chromium.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const { values } = parseArgs({
  options: { entries: { type: 'string', default: '100000' }, port: { type: 'string', default: '18290' } },
});
const ENTRIES = Number(values.entries);
const ORIGIN = `http://127.0.0.1:${values.port}`;
const WORDS = [
  'weather',
  'ledger',
  'tickets',
  'calendar',
  'search',
  'files',
  'images',
  'maps',
  'mail',
  'notes',
];
const SEARCHES = 40;

const folder = await mkdtemp(join(tmpdir(), 'registry-page-'));
const service = await start();
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  chromiumSandbox: false,
});
try {
  for (const measure of [firstLoad, searches, scrolling])
    process.stdout.write(`${JSON.stringify({ entries: ENTRIES, ...(await measure()) })}\n`);
} finally {
  await browser.close();
  service.kill('SIGTERM');
  await new Promise((done) => service.once('exit', done));
  await rm(folder, { recursive: true, force: true });
}

async function start() {
  const servers = Array.from({ length: ENTRIES }, (_, place) => ({
    name: `com.example.team${place % 500}/${WORDS[place % WORDS.length]}-${place}`,
    title: `${WORDS[place % WORDS.length]} ${place}`,
    description: `Server ${place} for ${WORDS[(place * 7) % WORDS.length]} and ${WORDS[(place * 3) % WORDS.length]}`,
    version: '1.0.0',
    remotes: [{ type: 'streamable-http', url: `https://example.com/${place}/mcp` }],
  }));
  const catalogue = join(folder, 'catalogue.json');
  await writeFile(
    catalogue,
    JSON.stringify({ version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers } }),
  );
  const configuration = join(folder, 'registry.yaml');
  await writeFile(
    configuration,
    JSON.stringify({
      auth: { mode: 'anonymous' },
      sources: [{ name: 'main', file: { path: catalogue }, syncPolicy: { interval: '1h' } }],
      registries: [{ name: 'main', sources: ['main'] }],
      log: { level: 'error' },
    }),
  );
  const child = spawn(
    process.execPath,
    [
      'dist/main.js',
      'serve',
      '--config',
      configuration,
      '--address',
      ORIGIN.slice(7),
      '--internal-address',
      '127.0.0.1:0',
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, REGISTRY_DATA_DIR: join(folder, 'data') },
    },
  );
  for (;;) {
    await pause(500);
    const reply = await fetch(`${ORIGIN}/v1/sources/main`).catch(() => undefined);
    if (reply?.ok && (await reply.json()).sync?.counts?.entries === ENTRIES) break;
    if (child.exitCode !== null) throw new Error('The server has exited');
  }
  // After a sync of this size, the search needs time to prepare all entries.
  while ((await fetch(`${ORIGIN}/registry/main/v0.1/x/search?limit=1`)).status === 503) await pause(1_000);
  return child;
}

async function firstLoad() {
  const painted = [];
  let bytes = {};
  for (let run = 0; run < 5; run += 1) {
    const page = await (await browser.newContext()).newPage();
    const client = await page.context().newCDPSession(page);
    await client.send('Network.enable');
    await client.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    const kinds = new Map();
    const loaded = { script: 0, style: 0, all: 0 };
    client.on('Network.responseReceived', ({ requestId, type, response }) => {
      if (!response.url.includes('/registry')) kinds.set(requestId, type.toLowerCase());
    });
    client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const kind = kinds.get(requestId);
      if (kind === undefined) return;
      loaded.all += encodedDataLength;
      if (kind === 'script') loaded.script += encodedDataLength;
      if (kind === 'stylesheet') loaded.style += encodedDataLength;
    });
    await page.goto(`${ORIGIN}/`);
    await page.locator('.card').first().waitFor();
    await pause(500);
    painted.push(
      await page.evaluate(
        () =>
          new Promise((done) => {
            new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime)).observe({
              type: 'largest-contentful-paint',
              buffered: true,
            });
          }),
      ),
    );
    bytes = loaded;
    await page.context().close();
  }
  return { firstLoadBytes: bytes, largestPaintMs: painted.map(Math.round) };
}

async function searches() {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${ORIGIN}/#/catalogue/main`);
  await page.locator('.card').first().waitFor();
  const took = [];
  for (let run = 0; run < SEARCHES; run += 1) {
    const place = (run * 2_477) % ENTRIES;
    const text = `${WORDS[place % WORDS.length]}-${place}`;
    await page.getByLabel('Search').fill('');
    await page.waitForFunction(() => document.querySelectorAll('.card').length > 5);
    took.push(
      await page.evaluate(async (wanted) => {
        const field = document.querySelector('input[type=search]');
        const begin = performance.now();
        field.value = wanted;
        field.dispatchEvent(new Event('input', { bubbles: true }));
        for (;;) {
          await new Promise((done) => requestAnimationFrame(done));
          // The entry of this name comes first; entries that mention its words follow.
          const isShown = document.querySelector('.card')?.dataset.name.endsWith(`/${wanted}`);
          if (isShown || performance.now() - begin > 10_000) return performance.now() - begin;
        }
      }, text),
    );
  }
  took.sort((one, other) => one - other);
  const at = (share) => Math.round(took[Math.ceil(took.length * share) - 1]);
  return { searchShownMs: { median: at(0.5), p95: at(0.95), most: at(1) } };
}

/** Scrolls steadily for ten seconds, then jumps to the end until everything is loaded. */
async function scrolling() {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.goto(`${ORIGIN}/#/catalogue/main`);
  await page.locator('.card').first().waitFor();
  const steady = await page.evaluate(watched, { ms: 10_000, pixelsPerFrame: 80 });
  const toTheEnd = await page.evaluate(watched, { ms: 25_000, pixelsPerFrame: Infinity });
  const cards = await page.locator('.card').count();
  const listed = await page.locator('.count').innerText();
  return { scrolling: { steady, toTheEnd, listed, cardsInTheDocument: cards } };
}

/** Runs in the browser: frame times, and tasks longer than 50 ms. */
async function watched({ ms, pixelsPerFrame }) {
  const longTasks = [];
  const observer = new PerformanceObserver((list) =>
    longTasks.push(...list.getEntries().map(({ duration }) => Math.round(duration))),
  );
  observer.observe({ type: 'longtask' });
  const frames = [];
  let framesWithoutCard = 0;
  const begin = performance.now();
  let before = begin;
  let height = 0;
  let grown = begin;
  while (performance.now() - begin < ms) {
    const now = await new Promise((done) => requestAnimationFrame(done));
    frames.push(now - before);
    before = now;
    const end = document.documentElement.scrollHeight - window.innerHeight;
    window.scrollTo(0, Math.min(end, window.scrollY + pixelsPerFrame));
    // The gap between two rows is smaller than this.
    const isCard = (down) =>
      document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 2 + down)?.closest('.card');
    if (![0, 30].some(isCard)) framesWithoutCard += 1;
    if (end > height) [height, grown] = [end, now];
    // Nothing more is loaded.
    if (window.scrollY >= end - 1 && now - grown > 2_000) break;
  }
  observer.disconnect();
  frames.sort((one, other) => one - other);
  const at = (share) => Math.round(frames[Math.ceil(frames.length * share) - 1]);
  return {
    seconds: Math.round((performance.now() - begin) / 100) / 10,
    frames: { count: frames.length, median: at(0.5), p95: at(0.95), p99: at(0.99), most: at(1) },
    framesWithoutCard,
    longTasks: { count: longTasks.length, most: Math.max(0, ...longTasks) },
  };
}
