import type { Place } from './place.js';
import { API_GROUP } from './resources.js';

const MAX_QUOTED = 300;

/** The cluster could not be asked, or refused; the message is a sentence for the operator and holds no secret. */
export class ClusterError extends Error {
  constructor(
    message: string,
    /** Of the HTTP answer, where there was one. */
    readonly status?: number,
  ) {
    super(message);
  }
}

/** Why the API server refused, with what to do about it. `body` is a Status object, if all is well. */
export function refusal(verb: string, place: Place, status: number, body: string): ClusterError {
  const { plural, namespace } = place;
  const where = namespace === null ? 'in all namespaces' : `in the namespace ${namespace}`;
  const said = quoted(body);
  const told = (sentence: string) =>
    new ClusterError(said === '' ? sentence : `${sentence}. It says: ${said}`, status);
  switch (status) {
    case 401:
      return told('The API server refused the credentials (401): the token is wrong or has expired');
    case 403:
      return told(
        `The API server forbids to ${verb} ${plural} ${where} (403): the account needs a rule with the verbs get, list ` +
          `and watch on ${plural} of the API group ${API_GROUP}`,
      );
    default:
      return told(`The API server answered ${status} when asked to ${verb} ${plural} ${where}`);
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
