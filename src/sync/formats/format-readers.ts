import { Injectable } from '@nestjs/common';
import { ContentRepositories } from '../../content/content-repositories.js';
import { tooLargeSentence } from '../../outbound/fetch-error.js';
import type { SettingsOf } from '../../source-kinds/kinds.js';
import type { SourceFormat } from '../../source-kinds/source-formats.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import type { Fetched, FetchState } from '../fetcher.js';
import type { MemoryShare } from '../read-memory.js';
import { SourceReader } from '../source-reader.js';
import {
  type DerivedRead,
  type FolderFormat,
  type FolderReader,
  FormatError,
  type FormatSettings,
  type SourceContent,
} from './source-content.js';
import { findFormat } from './found-format.js';
import { findInRepository } from './repository-format.js';
import { MAX_MARKETPLACE_BYTES, readMarketplace, readMarketplaceFolder } from './marketplace-file.js';
import { readServersFolder } from './servers-folder.js';
import { readSkillsFolder } from './skills-folder.js';
import { jsonText } from './sliced-file.js';

interface FormattedSource {
  /** The settings of its kind. */
  readonly settings: object;
  readonly filter: StoredFilter | null;
}

/** The readers of folders, and of files that describe one. */
const FOLDER_READERS = {
  servers: readServersFolder,
  marketplace: readMarketplaceFolder,
  skills: readSkillsFolder,
} as const satisfies Record<FolderFormat, FolderReader>;

export function formatSettings({ settings, filter }: FormattedSource): FormatSettings {
  const { format = null, namespace = null } = settings as Pick<SettingsOf<'git'>, 'format' | 'namespace'>;
  return { format, namespace, filter };
}

/**
 * Reads fetched data in the format of the source, so that fetchers need not know formats, and formats need not know
 * Git.
 */
@Injectable()
export class FormatReaders {
  constructor(
    private readonly reader: SourceReader,
    private readonly refs: ContentRepositories,
  ) {}

  /**
   * @param before the state of the last successful run; null for the first run.
   * @param commits see `DerivedRead`.
   * @throws FetchError
   * @throws FormatError
   * @throws ReadMemoryError
   */
  async read(
    fetched: Fetched,
    source: FormattedSource,
    before: FetchState | null,
    memory: MemoryShare,
    signal: AbortSignal,
    commits: DerivedRead['commits'] = new Map(),
  ): Promise<SourceContent> {
    switch (fetched.kind) {
      case 'unchanged':
        return fetched;
      case 'entries':
      case 'changes': {
        const { content, state } = fetched;
        const gone = fetched.kind === 'changes' ? fetched.gone : null;
        return { kind: 'content', content, gone, state, format: null };
      }
      case 'file': {
        const { bytes, state } = fetched;
        const settings = formatSettings(source);
        if ((settings.format ?? formatOfSmall(bytes)) === 'marketplace') {
          const read = { ...settings, memory, signal, commits, refs: this.refs };
          const content = await readMarketplace(bytes, read, null);
          return { kind: 'content', content, gone: null, state, format: 'marketplace' };
        }
        const { format, ...content } = await this.reader.file(bytes, settings, memory, signal);
        return { kind: 'content', content, gone: null, state, format };
      }
      case 'tree':
        return this.readTree(fetched, source, before, memory, signal, commits);
    }
  }

  /** Reads the configured or detected file or folder, unless the last run read the same one. */
  private async readTree(
    { tree, state: { commit } }: Fetched & { kind: 'tree' },
    source: FormattedSource,
    before: FetchState | null,
    memory: MemoryShare,
    signal: AbortSignal,
    commits: DerivedRead['commits'],
  ): Promise<SourceContent> {
    const settings = formatSettings(source);
    const { path } = source.settings as SettingsOf<'git'>;
    let found = await findInRepository(tree, path, settings.format);
    const wasRead = (object: string) => before?.['object'] === object;
    if (found.reads === 'file') {
      const { at } = found;
      const state = { commit, object: at.id };
      if (wasRead(at.id)) return { kind: 'unchanged', state };
      const { bytes } = await tree.readWhole(at, memory);
      const format = found.format ?? formatOfSmall(bytes);
      if (format !== 'marketplace') {
        const { format: read, ...content } = await this.reader.file(
          bytes,
          { ...settings, format },
          memory,
          signal,
        );
        if (read === 'marketplace') throw new FormatError(tooLargeSentence(at.path, MAX_MARKETPLACE_BYTES));
        return { kind: 'content', content, gone: null, state, format: read };
      }
      found = { reads: 'folder', at, format };
    }
    const { at, format } = found;
    // A marketplace may refer to folders anywhere in the repository.
    const object = format === 'marketplace' ? ((await tree.find(''))?.id ?? '') : at.id;
    const state = { commit, object };
    if (wasRead(object)) return { kind: 'unchanged', state };
    const content = await FOLDER_READERS[format]({
      ...{ ...settings, tree, at, memory, signal, commits },
      refs: this.refs,
    });
    return { kind: 'content', content, gone: null, state, format };
  }
}

/** Returns null for a file that is too large for a marketplace; the worker that reads it detects its format. */
function formatOfSmall(bytes: Buffer): SourceFormat | null {
  return bytes.length > MAX_MARKETPLACE_BYTES ? null : findFormat(jsonText(bytes));
}
