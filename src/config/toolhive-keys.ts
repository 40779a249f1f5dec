import { elements, member } from '../json/json-values.js';
import { below, type Issue, issue } from '../validation/value-checks.js';

/** Advice about keys, nested as in the file. A one-element list applies to each item of a list. */
type Advice = string | readonly [Advice] | { readonly [key: string]: Advice };

const POOL = 'is not needed: remove it; database.pool.max limits the connections';
const TELEMETRY =
  'has no equivalent: remove it; metrics are at /metrics of the internal port, traces need telemetry.otlpEndpoint';
const AUDIT =
  'has no equivalent: remove it; changes and refusals are always recorded, and audit.reads adds reads';
const SOURCE = 'belongs to a source: move it to an item of sources, and list that source in the registry';

/**
 * Configuration keys of ToolHive registry server 0.3 to 1.5 that this server does not have. docs/migrating.md lists all
 * ToolHive keys.
 */
const ADVICE: Advice = {
  registryName: 'has no equivalent: remove it; each registry has a name',
  fileStorage: 'has no equivalent: remove it; all data is in the database',
  spec: { configYAML: 'contains a whole configuration: write its text to a file and check that file' },
  auth: {
    publicPaths:
      'is auth.oauth.publicPaths here, where a path includes the paths below it only if it ends in /*',
  },
  database: {
    maxOpenConns: 'is database.pool.max here',
    maxIdleConns: POOL,
    connMaxLifetime: POOL,
    maxMetaSize: 'is limits.publisherMeta here, such as 256KiB',
    dynamicAuth: 'has no equivalent: use a password, passwordFile or PGPASSFILE',
  },
  telemetry: {
    enabled: TELEMETRY,
    serviceName: 'is the environment variable OTEL_SERVICE_NAME here',
    serviceVersion: TELEMETRY,
    endpoint: 'is telemetry.otlpEndpoint here; it must be a URL',
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
      format: 'is git.format or file.format here: remove it, because formats are detected automatically',
      file: {
        data: 'has no equivalent: write the text to a file and set path to it',
        timeout: 'is not needed: remove it',
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

/** Message for a file that contains any ToolHive key. */
export const TOOLHIVE_FILE =
  'looks like the configuration of a ToolHive registry server: docs/migrating.md lists the equivalent of each key';

/** Returns an issue for each ToolHive key in the file. Accepts a file of any shape. */
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
