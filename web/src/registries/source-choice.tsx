import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import { useAnswer } from '../api/use-answer.js';
import { offers } from '../session/roles.js';
import { useSession } from '../session/session.js';

interface Props {
  readonly sources: readonly string[];
  readonly change: (to: string[]) => void;
}

/** Adds a source: those that the caller manages are offered, another one can be named. */
export function SourceChoice({ sources, change }: Props): JSX.Element {
  const session = useSession();
  const [name, setName] = useState('');
  const known = useAnswer(offers(session, 'manageSources') ? 'sources' : null, (signal) =>
    answer(api.GET('/v1/sources', { signal })),
  );
  const offered = (known.value?.sources ?? []).map((source) => source.name);
  const wanted = name.trim();
  const add = () => {
    if (wanted !== '' && !sources.includes(wanted)) change([...sources, wanted]);
    setName('');
  };
  return (
    <span class="claims-add">
      <input
        type="text"
        aria-label="Source"
        list="known-sources"
        placeholder="source"
        autocapitalize="off"
        spellcheck={false}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      <datalist id="known-sources">
        {offered
          .filter((each) => !sources.includes(each))
          .map((each) => (
            <option key={each} value={each} />
          ))}
      </datalist>
      <button type="button" class="small" onClick={add} disabled={wanted === ''}>
        Add
      </button>
    </span>
  );
}
