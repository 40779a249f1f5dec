import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { visible } from '../ui/visible.js';

/** A problem at a line, counted from 1. */
export interface Mark {
  readonly line: number;
  readonly message: string;
}

interface Props {
  readonly text: string;
  readonly change: (text: string) => void;
  readonly marks: readonly Mark[];
}

const LINE_PX = 20;
const LARGEST_BYTES = 4 * 1_024 * 1_024;
const EXAMPLE = `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "com.example.team/weather",
  "description": "Forecasts for a place and a day",
  "version": "1.0.0",
  "remotes": [{ "type": "streamable-http", "url": "https://weather.example.com/mcp" }]
}
`;

/** A text field for a JSON document: lines are numbered, problems stand at the end of theirs, files can be dropped on it. */
export function DocumentEditor({ text, change, marks }: Props): JSX.Element {
  const [scroll, setScroll] = useState({ top: 0, left: 0 });
  const [isOver, setOver] = useState(false);
  const [complaint, setComplaint] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const lines = text.split('\n');
  const byLine = new Map<number, string[]>();
  for (const { line, message } of marks) byLine.set(line, [...(byLine.get(line) ?? []), message]);
  const take = async (file: File | undefined) => {
    setComplaint('');
    if (!file) return;
    if (file.size > LARGEST_BYTES) setComplaint(`${file.name} is larger than any document may be`);
    else change(await file.text());
  };
  return (
    <>
      <div
        class={isOver ? 'editor is-over' : 'editor'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer?.files[0]);
        }}
      >
        <div class="gutter" aria-hidden="true">
          <div style={{ transform: `translateY(${-scroll.top}px)` }}>
            {lines.map((_, place) => (
              <span key={place} class={byLine.has(place + 1) ? 'marked' : undefined}>
                {place + 1}
              </span>
            ))}
          </div>
        </div>
        <div class="editor-body">
          <div class="editor-marks" aria-hidden="true">
            {[...byLine].map(([line, messages]) => (
              <span
                key={line}
                style={{
                  top: `${(line - 1) * LINE_PX}px`,
                  paddingInlineStart: `calc(${(lines[line - 1] ?? '').length + 3}ch)`,
                  transform: `translate(${-scroll.left}px, ${-scroll.top}px)`,
                }}
              >
                {visible(messages.join('; ')).slice(0, 200)}
              </span>
            ))}
          </div>
          <textarea
            ref={field}
            class="code-field"
            aria-labelledby="document-label"
            aria-invalid={marks.length > 0}
            wrap="off"
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            placeholder="Paste a document, or drop a file here"
            value={text}
            onInput={(event) => change(event.currentTarget.value)}
            onScroll={(event) =>
              setScroll({ top: event.currentTarget.scrollTop, left: event.currentTarget.scrollLeft })
            }
          />
        </div>
      </div>
      <p class="buttons editor-tools">
        <label class="button small">
          Choose a file
          <input
            type="file"
            class="hidden"
            accept="application/json,.json"
            onChange={(event) => {
              void take(event.currentTarget.files?.[0]);
              event.currentTarget.value = '';
            }}
          />
        </label>
        {text === '' && (
          <button type="button" class="small" onClick={() => change(EXAMPLE)}>
            Begin with an example
          </button>
        )}
        {complaint !== '' && <span class="bad-text">{complaint}</span>}
      </p>
    </>
  );
}
