import { parseShallow } from '../../json/json-text.js';
import { member } from '../../json/json-values.js';
import { serverSaid } from '../../validation/storable-text.js';
import { API_GROUP, describeCollection, type ResourceCollection } from './custom-resources.js';

const MAX_DEPTH = 100;

/** The API server is unreachable or refused a request. The message is for the operator and contains no secrets. */
export class ClusterError extends Error {
  constructor(
    message: string,
    /** HTTP status, if there was a response. */
    readonly status?: number,
    /** The delay requested by the server (Retry-After); null if it requested none. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/**
 * Returns an error that explains why the API server refused the request and how to fix it.
 *
 * @param body the response body, which is a Status object if it came from an API server.
 */
export function statusError(
  verb: string,
  collection: ResourceCollection,
  { status, body, retryAfterMs }: { status: number; body: string; retryAfterMs: number | null },
): ClusterError {
  const { plural } = collection;
  const objects = describeCollection(collection);
  const reason = messageOf(body);
  const withReason = (sentence: string) =>
    new ClusterError(reason === '' ? sentence : `${sentence}; ${serverSaid(reason)}`, status, retryAfterMs);
  switch (status) {
    case 401:
      return withReason('The API server refused the credentials (401): the token is wrong or has expired');
    case 403:
      return withReason(
        `The API server refused to ${verb} ${objects} (403): the account needs a rule with the verbs list and watch ` +
          `on ${plural} of the API group ${API_GROUP}`,
      );
    default:
      return withReason(`The API server returned status ${status} to a request to ${verb} ${objects}`);
  }
}

/** Returns a sentence that explains why there was no response. */
export function connectionProblem(server: string, error: unknown): string {
  const { code = '', message = '' } =
    error instanceof AggregateError ? first(error) : (error as NodeJS.ErrnoException);
  if (/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|TLS|SSL/.test(code))
    return `The certificate of the API server at ${server} is not trusted (${code}): check the certificate authority in the kubeconfig`;
  switch (code) {
    case 'ECONNREFUSED':
      return `The API server at ${server} is unreachable: connection refused`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The API server at ${server} is unreachable: its host name could not be resolved`;
    default:
      return `The API server at ${server} is unreachable: ${code === '' ? message : code}`;
  }
}

function first({ errors: [error], message }: AggregateError): NodeJS.ErrnoException {
  return error instanceof Error ? error : new Error(message);
}

function messageOf(body: string): string {
  const message = member(parseShallow(body, MAX_DEPTH), 'message');
  return typeof message === 'string' ? message.trim() : '';
}
