/** A piece of a line. */
export type Inline =
  | { readonly kind: 'text' | 'code' | 'strong' | 'emphasis'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly url: string };

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly line: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'quote' | 'paragraph'; readonly line: string };

const MAX_CHARACTERS = 100_000;
const MAX_BLOCKS = 2_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^\s{0,12}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;

/**
 * Reads the common part of Markdown. Anything else, such as HTML, stays text: publishers write these files. Reads every
 * line once.
 */
export function blocksOf(text: string): Block[] {
  const lines = text.slice(0, MAX_CHARACTERS).replaceAll('\r\n', '\n').split('\n');
  const blocks: Block[] = [];
  let at = frontmatterEnd(lines);
  if (at > 0) blocks.push({ kind: 'code', text: lines.slice(1, at - 1).join('\n') });
  while (at < lines.length && blocks.length < MAX_BLOCKS) {
    const [block, next] = blockAt(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** Returns the line after the frontmatter; 0 if there is none. */
function frontmatterEnd(lines: readonly string[]): number {
  return lines[0] === '---' ? lines.indexOf('---', 1) + 1 : 0;
}

function blockAt(lines: readonly string[], at: number): readonly [Block | null, number] {
  const line = lines[at] ?? '';
  if (line.trim() === '') return [null, at + 1];
  const [, fence] = FENCE.exec(line) ?? [];
  if (fence !== undefined) {
    const end = lines.findIndex((each, index) => index > at && each.trimStart().startsWith(fence));
    const last = end < 0 ? lines.length : end;
    return [{ kind: 'code', text: lines.slice(at + 1, last).join('\n') }, last + 1];
  }
  const [, marks, title] = HEADING.exec(line) ?? [];
  if (marks !== undefined && title !== undefined)
    return [{ kind: 'heading', level: marks.length, line: title }, at + 1];
  if (ITEM.test(line)) return listAt(lines, at);
  const kind = QUOTE.test(line) ? 'quote' : 'paragraph';
  const parts: string[] = [];
  let next = at;
  for (; next < lines.length && (next === at || continues(lines[next] ?? '', kind)); next += 1) {
    const each = lines[next] ?? '';
    parts.push((QUOTE.exec(each)?.[1] ?? each).trim());
  }
  return [{ kind, line: parts.join(' ') }, next];
}

function listAt(lines: readonly string[], at: number): readonly [Block, number] {
  const isOrdered = ITEM.exec(lines[at] ?? '')?.[1] !== undefined;
  const items: string[] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    const [, , item] = ITEM.exec(line) ?? [];
    if (item !== undefined) items.push(item);
    else if (continues(line, 'paragraph')) items.push(`${items.pop() ?? ''} ${line.trim()}`);
    else break;
  }
  return [{ kind: 'list', isOrdered, items }, next];
}

function continues(line: string, kind: 'quote' | 'paragraph'): boolean {
  const isNew = line.trim() === '' || FENCE.test(line) || HEADING.test(line) || ITEM.test(line);
  return !isNew && QUOTE.test(line) === (kind === 'quote');
}

const MAX_INLINE = 10_000;
const INLINE =
  /`([^`\n]{1,1000})`|\*\*([^*\n]{1,1000})\*\*|\*([^*\s][^*\n]{0,1000})\*|!?\[([^\][\n]{0,500})\]\(([^()\s]{1,2000})\)/g;

export function inlinesOf(line: string): Inline[] {
  const text = line.slice(0, MAX_INLINE);
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) parts.push({ kind: 'text', text: text.slice(end, match.index) });
    const [whole, code, strong, emphasis, label = '', url = ''] = match;
    if (code !== undefined) parts.push({ kind: 'code', text: code });
    else if (strong !== undefined) parts.push({ kind: 'strong', text: strong });
    else if (emphasis !== undefined) parts.push({ kind: 'emphasis', text: emphasis });
    // Pictures would be loaded from elsewhere.
    else if (whole.startsWith('!')) parts.push({ kind: 'text', text: label });
    else parts.push({ kind: 'link', text: label, url });
    end = match.index + whole.length;
  }
  if (end < text.length) parts.push({ kind: 'text', text: text.slice(end) });
  return parts;
}
