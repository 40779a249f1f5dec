import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { isEntryType } from '../api/entry-types.js';
import type { Claims, EntryType } from '../api/types.js';
import { useSession } from '../session/session.js';
import { useQuery } from '../ui/query.js';
import { CallerFields } from './caller-fields.js';
import { type AssumedCaller, parseCaller, parseObject } from './caller.js';

const ACTIONS = ['see', 'manage', 'publish'] as const;

export function QuestionForm({
  question,
  ask,
}: {
  question: Question;
  ask: (to: Question) => void;
}): JSX.Element {
  const { settings } = useSession();
  const [draft, setDraft] = useState(question);
  const registries = useQuery('registries', (signal) => unwrap(api.GET('/registry', { signal })));
  const names = registries.value?.registries.map(({ name }) => name) ?? [];
  const change = (to: Partial<Question>) => setDraft({ ...draft, ...to });
  const [typed, setTyped] = useState(question.registry === '' ? null : question.registry);
  const registry = typed ?? names[0] ?? '';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        ask({ ...draft, registry, entry: draft.entry.trim() });
      }}
    >
      <div class="field">
        <label for="access-registry">Registry</label>
        <input
          id="access-registry"
          list="access-registries"
          required
          autocomplete="off"
          spellcheck={false}
          value={registry}
          // Keeps the default from changing during input when the registries finish loading.
          onFocus={() => setTyped(registry)}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <datalist id="access-registries">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      <div class="field">
        <label for="access-entry">
          Entry <span class="muted">optional</span>
        </label>
        <span class="claims-add">
          <select
            aria-label="Entry type"
            value={draft.type}
            onChange={(event) => change({ type: event.currentTarget.value as EntryType })}
          >
            <option value="server">server</option>
            <option value="skill">skill</option>
            <option value="plugin">plugin</option>
          </select>
          <input
            id="access-entry"
            class="wide"
            autocomplete="off"
            spellcheck={false}
            placeholder="name; leave empty for the registry itself"
            value={draft.entry}
            onInput={(event) => change({ entry: event.currentTarget.value })}
          />
        </span>
      </div>
      <CallerFields caller={draft.as} change={(as) => change({ as })} />
      <div class="field">
        <label for="access-action">Action</label>
        <select
          id="access-action"
          value={draft.action}
          onChange={(event) => change({ action: event.currentTarget.value as Question['action'] })}
        >
          {ACTIONS.map((action) => (
            <option key={action} value={action}>
              {action}
            </option>
          ))}
        </select>
      </div>
      {settings.mode === 'anonymous' && <p class="hint muted">In anonymous mode everyone sees everything.</p>}
      <p class="buttons form-end">
        <button class="primary">Explain</button>
      </p>
    </form>
  );
}

/** A question about access, stored in the URL. */
export interface Question {
  readonly registry: string;
  readonly type: EntryType;
  /** Empty for the registry itself. */
  readonly entry: string;
  readonly action: 'see' | 'manage' | 'publish';
  /** Null for the current user. */
  readonly as: AssumedCaller | null;
}

export function questionFromQuery(query: URLSearchParams): Question {
  const type = query.get('type');
  const action = query.get('action');
  const claims = parseObject(query.get('as') ?? '');
  return {
    registry: query.get('registry') ?? '',
    type: isEntryType(type) ? type : 'server',
    entry: query.get('entry') ?? '',
    action: action === 'manage' || action === 'publish' ? action : 'see',
    as: claims ? { claims: claims as Claims } : parseCaller(query.get('caller')),
  };
}

export function queryOf({ registry, type, entry, action, as }: Question): Record<string, string> {
  return {
    registry,
    type: entry === '' || type === 'server' ? '' : type,
    entry,
    action: action === 'see' ? '' : action,
    as: as && 'claims' in as ? JSON.stringify(as.claims) : '',
    caller: as && !('claims' in as) ? JSON.stringify(as) : '',
  };
}
