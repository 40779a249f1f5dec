import { fullFormats } from 'ajv-formats/dist/formats.js';
import { elements, isObject, member } from '../json/json-values.js';
import type { Connection, NamedTemplate, RemoteConnection } from './connection.js';
import { Inexpressible } from './omission.js';
import { packageConnection } from './packages.js';
import { fill, isOpen, type Template, templateOf, textMember, textOf, withInputsAs } from './template.js';
import type { TextLimit } from './text-limit.js';

/** RFC 9110 §5.6.2, `token`. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 §5.5: what a value may not hold. */
const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** Ways that are tried. Documents have one or two; of very many, each would take its time with each client. */
const MAX_CONNECTIONS = 50;

/**
 * The ways to a server that its document names, the best first: what somebody runs elsewhere before what is to be installed, and
 * streamable HTTP before the transport it has replaced. Each is made when it is asked for.
 *
 * @param limit for all of them together.
 */
export function connectionsOf(document: unknown, limit: TextLimit): (() => Connection)[] {
  const remotes = elements(member(document, 'remotes')).filter(isObject);
  const packages = elements(member(document, 'packages')).filter(isObject);
  return [
    ...['streamable-http', 'sse']
      .flatMap((type) => remotes.filter((remote) => remote['type'] === type))
      .map((remote) => () => remoteConnection(remote, limit)),
    ...packages.map((item) => () => packageConnection(item, limit)),
  ].slice(0, MAX_CONNECTIONS);
}

function remoteConnection(remote: Readonly<Record<string, unknown>>, limit: TextLimit): RemoteConnection {
  return {
    kind: 'remote',
    transport: remote['type'] === 'sse' ? 'sse' : 'http',
    url: urlOf(remote, limit),
    headers: headersOf(remote['headers'], limit),
  };
}

function urlOf(remote: Readonly<Record<string, unknown>>, limit: TextLimit): Template {
  const url = fill(textMember(remote, 'url') ?? '', remote['variables'], limit);
  // The scheme is not for anybody to choose.
  const [first] = url;
  const example = withInputsAs(url, 'x');
  if (typeof first !== 'string' || !/^https?:\/\//i.test(first) || !isUrl(example))
    throw new Inexpressible('invalid_url');
  return isOpen(url) ? url : [withPath(textOf(url))];
}

function isUrl(text: string): boolean {
  const { uri } = fullFormats;
  if (typeof uri !== 'function' || !uri(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

// Allow-lists read a URL without a path as one with any path.
function withPath(url: string): string {
  const [, authority = '', rest = ''] = /^(https?:\/\/[^/?#]+)(.*)$/is.exec(url) ?? [];
  return rest.startsWith('/') ? url : `${authority}/${rest}`;
}

function headersOf(list: unknown, limit: TextLimit): readonly NamedTemplate[] {
  const names = new Set<string>();
  return elements(list).flatMap((header): NamedTemplate[] => {
    const name = textMember(header, 'name') ?? '';
    limit.take(name.length);
    const value = templateOf(header, name, limit);
    const [first] = value;
    // A header that need not be sent, and that nobody has a value for, would be sent empty.
    if (value.length === 1 && typeof first === 'object' && !first.isRequired && !first.isSecret) return [];
    const isValid =
      HEADER_NAME.test(name) && !names.has(name.toLowerCase()) && !NOT_IN_HEADER.test(textOf(value));
    if (!isValid) throw new Inexpressible('invalid_header');
    names.add(name.toLowerCase());
    return [{ name, value }];
  });
}
