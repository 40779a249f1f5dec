import { API_GROUP, describeCollection, type ResourceCollection } from './custom-resources.js';

const MAX_QUOTED = 300;

/** The API server could not be reached, or refused; the message is a sentence for the operator and holds no secret. */
export class ClusterError extends Error {
  constructor(
    message: string,
    /** Of the HTTP answer, where there was one. */
    readonly status?: number,
    /** How long the API server asks to wait; null when it does not say. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** An answer has more bytes than are read at once. */
export class AnswerTooLarge extends ClusterError {}

/**
 * Why the API server refused, with what to do about it.
 *
 * @param body a Status object, unless something else has answered.
 */
export function refusal(
  verb: string,
  collection: ResourceCollection,
  { status, body, retryAfterMs }: { status: number; body: string; retryAfterMs: number | null },
): ClusterError {
  const { plural } = collection;
  const objects = describeCollection(collection);
  const reason = quoted(body);
  const withReason = (sentence: string) =>
    new ClusterError(reason === '' ? sentence : `${sentence}. It says: ${reason}`, status, retryAfterMs);
  switch (status) {
    case 401:
      return withReason('The API server refused the credentials (401): the token is wrong or has expired');
    case 403:
      return withReason(
        `The API server forbids to ${verb} ${objects} (403): the account needs a rule with the verbs list and watch ` +
          `on ${plural} of the API group ${API_GROUP}`,
      );
    default:
      return withReason(`The API server answered ${status} when asked to ${verb} ${objects}`);
  }
}

/** Why there was no answer. */
export function connectionProblem(server: string, error: unknown): string {
  const { code = '', message = '' } =
    error instanceof AggregateError ? first(error) : (error as NodeJS.ErrnoException);
  if (/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|TLS|SSL/.test(code))
    return `The certificate of the API server at ${server} is not accepted (${code}): check the certificate authority of the kubeconfig`;
  switch (code) {
    case 'ECONNREFUSED':
      return `The API server at ${server} could not be reached: nobody listens there`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The API server at ${server} could not be reached: its name is not known`;
    default:
      return `The API server at ${server} could not be reached: ${code === '' ? message : code}`;
  }
}

function first({ errors: [error], message }: AggregateError): NodeJS.ErrnoException {
  return error instanceof Error ? error : new Error(message);
}

function quoted(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? clean(message).slice(0, MAX_QUOTED) : '';
  } catch {
    return '';
  }
}

// PostgreSQL's text takes neither NUL nor half a surrogate pair.
function clean(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Surrogate}/gu, ' ');
}
