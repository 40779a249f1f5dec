import { elements, member } from '../json/json-values.js';
import { below, type Issue, issue } from '../validation/problems.js';

/** What to do about a key: at its place in the file, a list for each of the items of one. */
type Advice = string | readonly [Advice] | { readonly [key: string]: Advice };

const POOL = 'is not needed: leave it out, database.pool.max limits the connections';
const TELEMETRY =
  'has no equivalent: leave it out; metrics are at /metrics of the internal port, traces need telemetry.otlpEndpoint';
const AUDIT =
  'has no equivalent: leave it out; changes and refusals are always recorded, and audit.reads adds what is read';
const SOURCE = 'belongs to a source: move it to an item of sources, and name that in sources of the registry';

/**
 * Keys of the configuration of a ToolHive registry server, 0.3 to 1.5, that this one does not have; docs/migrating.md has
 * all its keys.
 */
const ADVICE: Advice = {
  registryName: 'has no equivalent: leave it out, registries have names of their own',
  fileStorage: 'has no equivalent: leave it out, everything is in the database',
  spec: { configYAML: 'holds a whole configuration: write its text to a file, and check that' },
  auth: {
    publicPaths:
      'is auth.oauth.publicPaths here, where a path is public with all below it only if it ends in /*',
  },
  database: {
    maxOpenConns: 'is database.pool.max here',
    maxIdleConns: POOL,
    connMaxLifetime: POOL,
    maxMetaSize: 'has no equivalent: leave it out, _meta of a publisher may have 64 KiB',
    dynamicAuth: 'has no equivalent: use a password, passwordFile or PGPASSFILE',
  },
  telemetry: {
    enabled: TELEMETRY,
    serviceName: 'is the environment variable OTEL_SERVICE_NAME here',
    serviceVersion: TELEMETRY,
    endpoint: 'is telemetry.otlpEndpoint here, a URL',
    insecure: TELEMETRY,
    tracing: 'is telemetry.sampleRatio here',
    metrics: TELEMETRY,
  },
  audit: {
    enabled: AUDIT,
    logFile: AUDIT,
    eventTypes: AUDIT,
    excludeEventTypes: AUDIT,
    includeRequestData: AUDIT,
    maxDataSize: AUDIT,
  },
  sources: [
    {
      format: 'is not needed: leave it out, files are in the format of the MCP registry',
      file: {
        data: 'has no equivalent: write the text to a file, and name that in path',
        timeout: 'is not needed: leave it out',
      },
      kubernetes: {
        claimMapping: 'has no equivalent: claims come from the annotation toolhive.stacklok.dev/authz-claims',
      },
    },
  ],
  registries: [
    {
      format: SOURCE,
      git: SOURCE,
      api: SOURCE,
      file: SOURCE,
      managed: SOURCE,
      kubernetes: SOURCE,
      syncPolicy: SOURCE,
      filter: SOURCE,
    },
  ],
};

/** Said of the file as a whole when it has one of these keys. */
export const TOOLHIVE_FILE =
  'looks like the configuration of a ToolHive registry server: docs/migrating.md says what each of its keys is here';

/** An issue for each key of a file that comes from a ToolHive registry server. Takes anything; values are not looked at. */
export function toolhiveKeys(file: unknown): Issue[] {
  return adviceOn(file, ADVICE);
}

function adviceOn(value: unknown, advice: Advice): Issue[] {
  if (value === undefined) return [];
  if (typeof advice === 'string') return issue(advice);
  if (isItemAdvice(advice))
    return elements(value).flatMap((item, position) => below([position], adviceOn(item, advice[0])));
  return Object.entries(advice).flatMap(([key, inner]) => below([key], adviceOn(member(value, key), inner)));
}

function isItemAdvice(advice: Exclude<Advice, string>): advice is readonly [Advice] {
  return Array.isArray(advice);
}
