import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EntryType } from '../api/types.js';
import { escapeInvisible } from '../ui/untrusted-text.js';
import { lineOf, type Lines, type Parsed } from './json-lines.js';

/** A problem on a line; lines start at 1. */
interface Mark {
  readonly line: number;
  readonly message: string;
}

interface Props {
  readonly text: string;
  readonly change: (text: string) => void;
  readonly marks: readonly Mark[];
}

const EDITOR = 'document-text';
const LINE_PX = 20;
const MAX_BYTES = 4 * 1_024 * 1_024;
const EXAMPLE = `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "com.example.team/weather",
  "description": "Forecasts for a place and a day",
  "version": "1.0.0",
  "remotes": [{ "type": "streamable-http", "url": "https://weather.example.com/mcp" }]
}
`;

/** A JSON editor with line numbers, problems at the end of their lines, and file drop. */
export function DocumentEditor({ text, change, marks }: Props): JSX.Element {
  const [scroll, setScroll] = useState({ top: 0, left: 0 });
  const [isDragOver, setDragOver] = useState(false);
  const [fileError, setFileError] = useState('');
  const lines = text.split('\n');
  const byLine = new Map<number, string[]>();
  for (const { line, message } of marks) byLine.set(line, [...(byLine.get(line) ?? []), message]);
  const load = async (file: File | undefined) => {
    setFileError('');
    if (!file) return;
    if (file.size > MAX_BYTES) setFileError(`${file.name} is too large: the limit is 4 MiB`);
    else change(await file.text());
  };
  return (
    <>
      <div
        class={isDragOver ? 'editor is-drag-over' : 'editor'}
        onDragOver={(event) => {
          event.preventDefault();
          setDragOver(true);
        }}
        onDragLeave={() => setDragOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setDragOver(false);
          void load(event.dataTransfer?.files[0]);
        }}
      >
        <div class="gutter" aria-hidden="true">
          <div style={{ transform: `translateY(${-scroll.top}px)` }}>
            {lines.map((_, index) => (
              <span key={index} class={byLine.has(index + 1) ? 'marked' : undefined}>
                {index + 1}
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
                {escapeInvisible(messages.join('; ')).slice(0, 200)}
              </span>
            ))}
          </div>
          <textarea
            id={EDITOR}
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
              void load(event.currentTarget.files?.[0]);
              event.currentTarget.value = '';
            }}
          />
        </label>
        {text === '' && (
          <button type="button" class="small" onClick={() => change(EXAMPLE)}>
            Start with an example
          </button>
        )}
        {fileError !== '' && <span class="bad-text">{fileError}</span>}
      </p>
    </>
  );
}

/** Moves the cursor to a line, which starts at 1, and selects it. */
export function selectLine(line: number): void {
  const field = document.getElementById(EDITOR) as HTMLTextAreaElement;
  const before = field.value.split('\n').slice(0, line - 1);
  const start = before.reduce((length, text) => length + text.length + 1, 0);
  const end = field.value.indexOf('\n', start);
  field.focus();
  field.setSelectionRange(start, end < 0 ? field.value.length : end);
  field.scrollTop = Math.max((line - 5) * LINE_PX, 0);
}

/** Problems with the typed document; `others` have no line, such as problems with claims. */
export interface Problems {
  readonly marks: readonly Mark[];
  readonly others: readonly string[];
}

/** @param parsed undefined if the editor is empty. */
export function problemsOf(
  parsed: Parsed | undefined,
  details: readonly string[],
  type: EntryType,
): Problems {
  if (!parsed) return { marks: [], others: [] };
  if (!('value' in parsed)) return { marks: [parsed], others: [] };
  const located = details.map((detail) => [detail, markOf(parsed.lines, detail, type)] as const);
  return {
    marks: located.flatMap(([, mark]) => mark ?? []).sort((one, other) => one.line - other.line),
    others: located.flatMap(([detail, mark]) => (mark ? [] : [detail])),
  };
}

/** `server.remotes[0].url: is required` → the line of `remotes[0]`. */
function markOf(lines: Lines, detail: string, type: EntryType): Mark | undefined {
  const [, path, message] = /^([\w$.[\]/-]+?): (.*)$/s.exec(detail) ?? [];
  if (path === undefined || message === undefined || !isBelow(path, type)) return undefined;
  const inside = path.slice(type.length).replace(/^\./, '');
  const line = lineOf(lines, inside);
  return { line, message: inside === '' ? message : `${inside.split('.').at(-1) ?? ''} ${message}` };
}

function isBelow(path: string, type: EntryType): boolean {
  return path === type || path.startsWith(`${type}.`) || path.startsWith(`${type}[`);
}
