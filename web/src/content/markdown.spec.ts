import { describe, expect, it } from 'vitest';
import { MAX_CHARACTERS, MAX_DEPTH, MAX_NODES, type MarkdownNode, parseMarkdown } from './markdown.js';

/** `<p>a <em>b</em></p>` */
function markup(nodes: readonly MarkdownNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      const { tag, url, start, children } = node;
      const attribute = url !== undefined ? ` ${url}` : start !== undefined ? ` ${start}` : '';
      return `<${tag}${attribute}>${markup(children)}</${tag}>`;
    })
    .join('');
}

function depthOf(nodes: readonly MarkdownNode[]): number {
  return Math.max(0, ...nodes.map((node) => (typeof node === 'string' ? 0 : 1 + depthOf(node.children))));
}

function countOf(nodes: readonly MarkdownNode[]): number {
  return nodes.reduce((sum, node) => sum + 1 + (typeof node === 'string' ? 0 : countOf(node.children)), 0);
}

describe('parseMarkdown', () => {
  it.each([
    ['# Review ##\r\nFirst\r\nsecond', '<h1>Review</h1><p>First second</p>'],
    ['a `b` **c** *d*', '<p>a <code>b</code> <strong>c</strong> <em>d</em></p>'],
    ['- one\n  - two\n- three', '<ul><li>one<ul><li>two</li></ul></li><li>three</li></ul>'],
    ['3. a\n4. b', '<ol 3><li>a</li><li>b</li></ol>'],
    ['> quoted\n> twice', '<blockquote><p>quoted twice</p></blockquote>'],
    ['```sh\n# no heading\n```\nend', '<pre># no heading</pre><p>end</p>'],
    ['```\nopen', '<pre>open</pre>'],
    ['a  \nb\n\n---', '<p>a<br></br>b</p><hr></hr>'],
    [
      '|a|b|\n|-|-|\n|c|`d`|',
      '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c</td><td><code>d</code></td></tr></tbody></table>',
    ],
    ['[docs](https://example.com/a "t")', '<p><a https://example.com/a>docs</a></p>'],
    ['<https://example.com/>', '<p><a https://example.com/>https://example.com/</a></p>'],
    ['https://example.com/', '<p>https://example.com/</p>'],
    ['![picture](https://evil.example/pixel.png)', '<p>picture</p>'],
    ['[click](javascript:window.ran=1)', '<p>[click](javascript:window.ran=1)</p>'],
    ['<img src=x onerror=alert(1)>', '<p><img src=x onerror=alert(1)></p>'],
    ['<div>\n*a*\n</div>', '<p><div> <em>a</em> </div></p>'],
    ['---\nname: review\n---\n# A', '<pre>name: review</pre><h1>A</h1>'],
    ['---\n---\nA', '<pre></pre><p>A</p>'],
    ['---\nname: x', '<hr></hr><p>name: x</p>'],
  ])('reads %j', (text, expected) => {
    expect(markup(parseMarkdown(text).nodes)).toBe(expected);
  });

  it('reports whether a text is cut off', () => {
    expect(parseMarkdown('a'.repeat(MAX_CHARACTERS))).toMatchObject({ isCut: false });
    const { nodes, isCut } = parseMarkdown(`${'a'.repeat(MAX_CHARACTERS)}b`);
    expect([isCut, markup(nodes).includes('b')]).toEqual([true, false]);
  });

  it('limits the elements', () => {
    const { nodes, isCut } = parseMarkdown('- a\n'.repeat(MAX_NODES));
    expect(isCut).toBe(true);
    expect(countOf(nodes)).toBe(MAX_NODES);
  });

  it('limits the depth of emphasis, and shows its text', () => {
    const { nodes, isCut } = parseMarkdown(`${'*'.repeat(20_000)}a${'*'.repeat(20_000)}`);
    expect(depthOf(nodes)).toBeLessThanOrEqual(MAX_DEPTH);
    expect([isCut, markup(nodes).includes('a')]).toEqual([false, true]);
  });

  it.each([
    ['quotes', '> '.repeat(30)],
    ['lists', '- '.repeat(30)],
  ])('limits the depth of %s, and reports the omission', (_, marks) => {
    const { nodes, isCut } = parseMarkdown(`${marks}a`);
    expect(depthOf(nodes)).toBeLessThanOrEqual(MAX_DEPTH);
    expect([isCut, markup(nodes).includes('a')]).toEqual([true, false]);
  });

  it('shows lists of a usual depth', () => {
    expect(parseMarkdown('- - - - a').isCut).toBe(false);
  });
});
