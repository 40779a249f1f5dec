import type { JSX } from 'preact';
import type { Source } from '../api/types.js';
import { Code } from '../ui/code.js';

/** What the source is told to do, as its declaration has it. */
export function Settings({ source }: { source: Source }): JSX.Element {
  const { kind, syncPolicy, filter, allowShrink } = source;
  const declared = { [kind]: source[kind], syncPolicy, filter, allowShrink };
  return (
    <section>
      <h2>Settings</h2>
      <Code text={JSON.stringify(declared, null, 2)} label="Settings" />
    </section>
  );
}
