import type { PluginServer } from '../client-config/plugin-server.js';
import { isObject, member } from '../json/json-values.js';
import { toStorable } from '../validation/storable-text.js';
import { smallestWithin } from '../limits/smallest-within.js';
import type { ConfiguredServer, MemberFile } from './read-members.js';
import {
  MAX_SERVERS_FILE_BYTES,
  onlyServersFile,
  translatedServers,
  type UntranslatedServer,
} from './translated-servers.js';

/** The servers of a plugin as listed in client policies. Stored with its members. */
export interface PluginServers {
  /** The servers, with the properties that client lists depend on. */
  readonly servers: readonly PluginServer[];
  /** Servers that the marketplace omits from the file that it adds. */
  readonly untranslated: readonly UntranslatedServer[];
}

/**
 * Maximum characters of the servers as JSON. Beyond it only names are kept, as far as they fit, so that lists count
 * these servers as omitted.
 */
const MAX_LENGTH = 256 * 1_024;
const MAX_DROPPED = 100;
const MAX_UNTRANSLATED = 100;
const MAX_NAME = 200;

/**
 * Returns the servers in the files of a plugin as listed in client policies. The result depends only on the files.
 *
 * @param configured the servers in the files: see `readMembers`.
 * @param read returns the bytes of a file.
 */
export async function pluginServersOf<File extends MemberFile>(
  files: readonly File[],
  configured: readonly ConfiguredServer[],
  read: (file: File) => Promise<Buffer>,
): Promise<PluginServers> {
  const all = configured.map(({ name, config, isCertain }): PluginServer => ({
    name: toStorable(name, MAX_NAME),
    config: listedPart(config),
    ...(isCertain ? {} : { isUncertain: true }),
  }));
  // PostgreSQL stores neither NUL nor lone surrogates.
  const storable = all.filter((server) => !/\\u(?:0000|d[89a-f])/i.test(JSON.stringify(server)));
  const kept = new Set(smallestWithin(storable, MAX_LENGTH, (server) => JSON.stringify(server).length));
  const dropped = all.filter((server) => !kept.has(server)).slice(0, MAX_DROPPED);
  const servers = [...kept, ...dropped.map(({ name }) => ({ name, config: {}, isUncertain: true }))];
  const file = onlyServersFile(files);
  if (!file || files.some(({ path }) => path.toLowerCase() === 'skill.md'))
    return { servers, untranslated: [] };
  const text = file.bytes > MAX_SERVERS_FILE_BYTES ? '' : (await read(file)).toString();
  const { untranslated } = translatedServers(file.path, text);
  return {
    servers,
    untranslated: untranslated.slice(0, MAX_UNTRANSLATED).map(({ server, ...rest }) => ({
      ...rest,
      ...(server === undefined ? {} : { server: toStorable(server, MAX_NAME) }),
    })),
  };
}

/** Omits the values of variables, which may be secrets. */
function listedPart(config: ConfiguredServer['config']): object {
  const kept = ['type', 'command', 'args', 'url'].flatMap((key) => {
    const value = member(config, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  const env = member(config, 'env');
  if (env === undefined) return Object.fromEntries(kept);
  const names = isObject(env) ? Object.fromEntries(Object.keys(env).map((name) => [name, ''])) : [];
  return { ...Object.fromEntries(kept), env: names };
}
