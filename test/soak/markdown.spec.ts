import { describe, expect, it } from 'vitest';
import { MAX_CHARACTERS, parseMarkdown } from '../../web/src/content/markdown.js';

/** Texts of any length that a parser may read in more than linear time. */
const SHAPES: Readonly<Record<string, (length: number) => string>> = {
  'a heading of spaces': (length) => `# ${' '.repeat(length)}x\ry`,
  'marks in a heading': filledWith(' #', '# a', 'x'),
  'open emphasis': filledWith('*a '),
  'open emphasis of two kinds': filledWith('a**b_c '),
  'emphasis marks after words': filledWith('a***'),
  'open links': filledWith('[a]('),
  'open links with angle brackets': filledWith('[a](<b'),
  brackets: (length) => '['.repeat(length),
  'closed brackets': (length) => `${'['.repeat(length / 2)}a${']'.repeat(length / 2)}`,
  'brackets in emphasis': filledWith('[*a'),
  'emphasis and brackets': filledWith('*['),
  pictures: filledWith('![[]()'),
  'runs of backticks': (length) => {
    const runs = Array.from({ length: Math.sqrt(2 * length) }, (_, index) => `e${'`'.repeat(index)}`);
    return runs.join('');
  },
  'references to references': filledWith('[a][b]['),
  definitions: filledWith('[a]: b\n'),
  'open titles of definitions': filledWith('[a]: <b> "c\n'),
  tags: filledWith('<a '),
  comments: filledWith('<!--'),
  entities: filledWith('&#'),
  quotes: (length) => '>'.repeat(length),
  'quotes of lists': filledWith('> - '),
  lists: filledWith('- '),
  'lists of two kinds': filledWith('+ *\n'),
  'deeper lists': (length) => {
    const lines = Array.from({ length: Math.sqrt(length) }, (_, index) => `${' '.repeat(2 * index)}- a\n`);
    return lines.join('');
  },
  'underlines of headings': filledWith('a\n=\n'),
  'wide tables': (length) => `${'|a'.repeat(length / 4)}|\n${'|-'.repeat(length / 4)}|\n`,
  'tables with short rows': (length) => {
    const width = Math.sqrt(length);
    return `${'|a'.repeat(width)}\n${'|-'.repeat(width)}\n${'|\n'.repeat(length / 2)}`;
  },
  'many tables': filledWith('|a\n|-\n'),
  'escaped pipes': filledWith('\\|', '|a|\n|-|\n|'),
  addresses: filledWith('http://a'),
  backslashes: filledWith('\\'),
  spaces: (length) => `a${' '.repeat(length)}b`,
  tabs: filledWith('\t-'),
  'open frontmatter': filledWith('a: b\n', '---\n'),
};

function filledWith(part: string, before = '', after = ''): (length: number) => string {
  return (length) => `${before}${part.repeat(length / part.length)}${after}`;
}

describe('a text of a publisher', () => {
  const ORDINARY = filledWith('Some *words* of an [ordinary](https://example.com/) text.\n\n- item\n\n');

  it.each(Object.entries(SHAPES))('is parsed in linear time: %s', (_, shape) => {
    const length = MAX_CHARACTERS / 4;
    expect(timeOf(shape(length)) / timeOf(ORDINARY(length))).toBeLessThan(100);
  });
});

/** Processor time in ms, which other processes do not affect. */
function timeOf(text: string): number {
  const before = process.cpuUsage();
  parseMarkdown(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
