import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-telemetry-')), 'config.yaml');
const otlpEndpoint = 'http://collector:4318';

function read(tree: object, environment: NodeJS.ProcessEnv = {}) {
  writeFileSync(file, JSON.stringify({ auth: { mode: 'anonymous' }, ...tree }));
  return loadConfig(file, environment, {});
}

it.each<[object, string, string]>([
  [{ telemetry: true }, 'telemetry', 'must be a map'],
  [{ telemetry: { otlpEndpoint: 'collector:4318' } }, 'telemetry.otlpEndpoint', 'http:// or https://'],
  [
    { telemetry: { otlpEndpoint: 'http://me:pw@collector' } },
    'telemetry.otlpEndpoint',
    'a user or a password',
  ],
  [{ telemetry: { sampleRatio: 1.1 } }, 'telemetry.sampleRatio', 'must be a number from 0 to 1'],
  [{ telemetry: { sampleRatio: '0.1' } }, 'telemetry.sampleRatio', 'must be a number from 0 to 1'],
  [
    { telemetry: { traceparentHosts: ['https://a'] } },
    'telemetry.traceparentHosts[0]',
    'a host name without scheme',
  ],
  [
    { telemetry: { traceparentHosts: ['a', 'a'] } },
    'telemetry.traceparentHosts[1]',
    'is already in the list',
  ],
  [{ log: { format: 'pretty' } }, 'log.format', 'must be one of json, text'],
])('refuses %j at %s: %s', (tree, path, fragment) => {
  expect(() => read(tree)).toThrow(`${path}: `);
  expect(() => read(tree)).toThrow(fragment);
});

describe('the targets of traces and metrics', () => {
  const at = (signal: string, base = otlpEndpoint) => ({
    url: `${base}/v1/${signal}`,
    protocol: 'http/protobuf',
  });
  const both = { traces: at('traces'), metrics: at('metrics') };
  const named = (base: string) => ({ traces: at('traces', base), metrics: at('metrics', base) });
  const none = { traces: null, metrics: null };
  const telemetry = { otlpEndpoint };

  it.each<[what: string, telemetry: object | undefined, environment: NodeJS.ProcessEnv, expected: object]>([
    ['nothing is configured', undefined, {}, none],
    ['the file names an endpoint', telemetry, {}, both],
    ['the endpoint has a trailing slash', { otlpEndpoint: `${otlpEndpoint}/` }, {}, both],
    ['a variable names one', undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint }, both],
    ['both name one: the variable wins', telemetry, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other' }, named('http://other')],
    ['a REGISTRY_ variable names one', telemetry, { REGISTRY_TELEMETRY_OTLP_ENDPOINT: 'http://ours' }, named('http://ours')],
    ['the variable is empty', undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, none],
    ['one signal has an endpoint, used as it is', undefined, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t/x' }, { traces: { url: 'http://t/x' }, metrics: null }],
    ['one signal is disabled', telemetry, { OTEL_METRICS_EXPORTER: 'none' }, { ...both, metrics: null }],
    ['only an exporter is named', undefined, { OTEL_TRACES_EXPORTER: 'otlp' }, { ...named('http://localhost:4318'), metrics: null }],
    ['the SDK is disabled', telemetry, { OTEL_SDK_DISABLED: 'true' }, none],
    ['JSON is configured', telemetry, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { traces: { protocol: 'http/json' } }],
  ])('%s', (_what, section, environment, expected) => {
    const { config, warnings } = read(section ? { telemetry: section } : {}, environment);
    expect(config.telemetry).toMatchObject(expected);
    expect(warnings).toEqual([]);
  }); // oxfmt-ignore

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /must be http\/protobuf or http\/json/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', /must be an http:\/\/ or https:\/\/ URL/],
    ['OTEL_TRACES_EXPORTER', 'zipkin', /no traces are sent/],
    ['OTEL_PROPAGATORS', 'b3', /OTEL_PROPAGATORS/],
  ])('warns about the unsupported %s=%s', (name, value, about) => {
    const { config, warnings } = read({ telemetry }, { [name]: value });
    expect(warnings).toContainEqual(expect.stringMatching(about));
    if (name !== 'OTEL_PROPAGATORS') expect(config.telemetry.traces).toBeNull();
    else expect(config.telemetry.propagates).toBe(false);
  });

  it.each([
    [{}, {}, 0.1],
    [{ sampleRatio: 1 }, {}, 1],
    [{ sampleRatio: 0 }, {}, 0],
    [{ sampleRatio: 1 }, { REGISTRY_TELEMETRY_SAMPLE_RATIO: '0.25' }, 0.25],
    [{ sampleRatio: 1 }, { OTEL_TRACES_SAMPLER: 'always_on' }, null],
  ])('with %j and %j the sample ratio is %s', (section, environment, ratio) =>
    expect(read({ telemetry: section }, environment).config.telemetry.sampleRatio).toBe(ratio),
  );
});
