import { beforeAll, describe, expect, it } from 'vitest';
import { HOSTILE } from './hostile-texts.js';
import { Person } from './person.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided';

/** A server whose every text is this one. The API refuses most of them; the page does not count on it. */
function itemOf(text: string): object {
  const server = {
    name: `x/${text}`,
    title: text,
    description: text,
    version: text,
    websiteUrl: text,
    repository: { url: text, source: text },
    icons: [{ src: text }],
    remotes: [{ type: 'sse', url: text, headers: [{ name: text, description: text }] }],
    packages: [
      {
        registryType: text,
        identifier: text,
        transport: { type: 'stdio' },
        environmentVariables: [{ name: text, description: text, isSecret: true }],
      },
    ],
    _meta: {
      [PROVIDED]: { x: { [text]: { tools: [text], tool_definitions: [{ name: text, description: text }] } } },
    },
  };
  const now = '2026-01-01T00:00:00Z';
  const state = { status: 'active', statusMessage: text, isLatest: true };
  return {
    server,
    _meta: { [OFFICIAL]: { ...state, publishedAt: now, updatedAt: now, statusChangedAt: now } },
  };
}

describe('a name, a title, a description and all else of a document', () => {
  const nobody = new Person(null).comes();
  let text = '';

  beforeAll(async () => {
    await nobody.page.setViewportSize({ width: 700, height: 900 });
    await nobody.page.route('**/registry/hostile/**', (route) =>
      route.request().method() === 'GET'
        ? route.fulfill({ json: { servers: [itemOf(text)], metadata: { count: 1 } } })
        : route.fulfill({
            json: {
              result: { structuredContent: { clients: [{ client: text, configuration: { [text]: text } }] } },
            },
          }),
    );
  });

  it.each(HOSTILE.map((hostile) => [hostile.slice(0, 60), hostile]))(
    'is shown as text: %s',
    async (_, hostile) => {
      text = hostile;
      await nobody.goes('/nowhere');
      await nobody.goes(`/catalogue/hostile?search=${HOSTILE.indexOf(hostile)}`);
      await nobody.page.locator('.card').waitFor();
      expect(await look()).toEqual(HARMLESS);
      expect(await shows('.card-title bdi', hostile)).toBe(true);
      await nobody.goes(`/catalogue/hostile/server/${HOSTILE.indexOf(hostile)}`);
      await nobody.page.locator('.entry-facts').waitFor();
      await nobody.page.getByText('The document as it was published').click();
      expect(await look()).toEqual(HARMLESS);
      expect(await shows('.entry-description bdi', hostile)).toBe(true);
    },
  );

  /** What the texts have made of the page: nothing but text. */
  const look = () =>
    nobody.page.evaluate(() => {
      const main = document.querySelector('main');
      const links = [...document.querySelectorAll('a')].map((link) => link.protocol);
      return {
        ran: 'ran' in window,
        strange: [
          ...(main?.querySelectorAll(
            'script,style,iframe,object,embed,form:not(.filters),base,link,svg,video,math',
          ) ?? []),
        ].length,
        handlers: [...document.querySelectorAll('*')].filter((one) =>
          one.getAttributeNames().some((name) => name.startsWith('on')),
        ).length,
        images: [...(main?.querySelectorAll('img') ?? [])].length,
        links: links.filter((protocol) => !['http:', 'https:'].includes(protocol)),
        unsafe: [...document.querySelectorAll('a[target]')].filter(
          (one) => !one.getAttribute('rel')?.includes('noopener'),
        ).length,
        sideways: document.documentElement.scrollWidth > window.innerWidth,
        reordered: /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f]/u.test(main?.innerText ?? ''),
      };
    });

  const HARMLESS = {
    ran: false,
    strange: 0,
    handlers: 0,
    images: 0,
    links: [],
    unsafe: 0,
    sideways: false,
    reordered: false,
  };

  /** The characters that are seen stand there as they are. */
  const shows = (where: string, hostile: string) =>
    nobody.page
      .locator(where)
      .first()
      .evaluate(
        (element, start) => (element.textContent ?? '').startsWith(start),
        (/^[\x20-\x7e]*/.exec(hostile)?.[0] ?? '').slice(0, 200),
      );
});
