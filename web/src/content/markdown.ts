import MarkdownIt, { type Token } from 'markdown-it';

/** The elements that may appear in a text. */
type Tag =
  | ('p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'ul' | 'ol' | 'li' | 'blockquote' | 'hr' | 'br')
  | ('pre' | 'code' | 'strong' | 'em' | 'a' | 'table' | 'thead' | 'tbody' | 'tr' | 'th' | 'td');

export interface MarkdownElement {
  readonly tag: Tag;
  /** Address of a link, unchecked. */
  readonly url?: string;
  /** First number of an ordered list. */
  readonly start?: number;
  readonly children: readonly MarkdownNode[];
}

export type MarkdownNode = string | MarkdownElement;

/** Limits on the text that is parsed and shown, because publishers write these files. */
export const MAX_CHARACTERS = 100_000;
/** Maximum number of elements and texts. */
export const MAX_NODES = 10_000;
/** Deeper elements are omitted, but not their text: the parser does not limit the depth of emphasis. */
export const MAX_DEPTH = 30;

/** Maximum nesting depth; the parser drops anything deeper. Each list uses two levels: the list and its item. */
const MAX_NESTING = 20;

/** Parses in linear time. HTML stays text. */
const parser = new MarkdownIt('commonmark', { html: false, maxNesting: MAX_NESTING }).enable('table');

/** Parses CommonMark with tables; frontmatter becomes a code block. */
export function parseMarkdown(text: string): {
  readonly nodes: readonly MarkdownNode[];
  /** Whether parts of the text are omitted. */
  readonly isCut: boolean;
} {
  const [frontmatter, body] = splitFrontmatter(text.slice(0, MAX_CHARACTERS).replaceAll('\r\n', '\n'));
  const tree = new Tree();
  if (frontmatter !== undefined) tree.add('pre', frontmatter);
  tree.addAll(parser.parse(body, {}));
  return { nodes: tree.nodes, isCut: tree.isCut || text.length > MAX_CHARACTERS };
}

function splitFrontmatter(text: string): readonly [frontmatter: string | undefined, body: string] {
  const end = text.startsWith('---\n') ? text.slice(3).search(/\n---(?=\n|$)/) + 3 : 2;
  return end < 3 ? [undefined, text] : [text.slice(4, end), text.slice(end + 4)];
}

/** Nests the parser's flat tokens. */
class Tree {
  readonly nodes: MarkdownNode[] = [];
  /**
   * The targets for the content of each open element, innermost last. The content of an omitted element goes to its
   * parent.
   */
  private readonly open: MarkdownNode[][] = [];
  isCut = false;
  private count = 0;

  addAll(tokens: readonly Token[]): void {
    for (const token of tokens) {
      this.isCut ||= this.count >= MAX_NODES;
      if (this.count >= MAX_NODES) return;
      this.addToken(token);
    }
  }

  add(tag: Tag, text?: string): void {
    this.push({ tag, children: text === undefined ? [] : [text] });
  }

  private addToken(token: Token): void {
    const { type, content, children } = token;
    if (token.nesting < 0) this.open.pop();
    else if (token.nesting > 0) this.enter(token);
    else if (type === 'inline') this.addAll(children ?? []);
    else if (type === 'softbreak') this.push(' ');
    else if (type === 'code_inline') this.add('code', content);
    else if (type === 'code_block' || type === 'fence') this.add('pre', content.replace(/\n$/, ''));
    else if (type === 'hr') this.add('hr');
    else if (type === 'hardbreak') this.add('br');
    // An image is replaced by its description, because it would be loaded from elsewhere.
    else if (content !== '') this.push(content);
  }

  private enter(token: Token): void {
    this.isCut ||= token.block && token.level >= MAX_NESTING - 1;
    const tag = NESTING_TAGS.find((each) => each === token.tag);
    // The paragraphs of a tight list are hidden.
    if (tag === undefined || token.hidden || this.open.length >= MAX_DEPTH) {
      this.open.push(this.innermost);
      return;
    }
    const children: MarkdownNode[] = [];
    const url = tag === 'a' ? String(token.attrGet('href') ?? '') : undefined;
    const start = tag === 'ol' ? Number(token.attrGet('start') ?? 1) : 1;
    this.push({ tag, ...(url !== undefined && { url }), ...(start !== 1 && { start }), children });
    this.open.push(children);
  }

  private push(node: MarkdownNode): void {
    this.count += 1;
    this.innermost.push(node);
  }

  private get innermost(): MarkdownNode[] {
    return this.open.at(-1) ?? this.nodes;
  }
}

const NESTING_TAGS: readonly Tag[] = [
  ...(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote'] as const),
  ...(['strong', 'em', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'] as const),
];
