import { beforeAll, describe, expect, it } from 'vitest';
import { HOSTILE } from './hostile-texts.js';
import { BrowserUser } from './browser-user.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided';

/** A server with this text in every field. The API rejects most of them; the web UI must not rely on that. */
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
        environmentVariables: [{ name: text, description: text, isSecret: true, choices: [text] }],
      },
    ],
    _meta: {
      [PROVIDED]: {
        x: {
          [text]: {
            tier: text,
            overview: `# ${text}`,
            tools: [text],
            tool_definitions: [{ name: text, description: text }],
          },
        },
      },
    },
  };
  const now = '2026-01-01T00:00:00Z';
  const official = { status: 'active', statusMessage: text, isLatest: true };
  return {
    server,
    _meta: { [OFFICIAL]: { ...official, publishedAt: now, updatedAt: now, statusChangedAt: now } },
  };
}

/** The same text in a search result. */
function foundWith(text: string): object {
  const found = { type: 'server', name: `x/${text}`, title: text, description: text, version: text };
  const stated = { clients: [text], tier: text, stars: 1, matched: [{ in: text, text }] };
  const item = { ...found, ...stated, status: text, tags: [text], transports: [text], installable: true };
  const facets = { type: { server: 1 }, tag: { [text]: 1 }, transport: { [text]: 1 } };
  return { items: [{ ...item, updatedAt: text }], facets, metadata: { count: 1, corrected: [text] } };
}

/** A held version with this text in every field. */
function heldItemOf(text: string): object {
  const now = '2026-01-01T00:00:00Z';
  const person = { subject: text, issuer: text, name: text };
  return {
    id: 'hostile',
    source: text,
    type: 'server',
    name: text,
    version: text,
    status: 'held',
    reasons: [{ policy: 'review', message: text, dueAt: text }],
    digest: text,
    firstSeenAt: now,
    publisher: person,
    claims: { [text]: text },
    approvals: { required: 1, given: 0 },
    decisions: [{ decision: 'comment', by: person, at: now, comment: text }],
    document: { description: text, more: { [text]: text } },
    replaces: { version: text, diff: [] },
    served: { description: 'before' },
  };
}

/** Responses that an icon host might send instead of an image. */
const HOSTILE_ICONS: readonly (readonly [what: string, type: string, body: string])[] = [
  [
    'SVG with a script',
    'image/svg+xml',
    '<svg xmlns="http://www.w3.org/2000/svg" onload="parent.ran=1"><script>parent.ran=1</script></svg>',
  ],
  [
    'SVG that loads',
    'image/svg+xml',
    '<svg xmlns="http://www.w3.org/2000/svg"><image href="https://evil.example/x.png"/></svg>',
  ],
  ['HTML', 'text/html', '<script>parent.ran = 1</script>'],
  ['HTML as a picture', 'image/png', '<script>parent.ran = 1</script>'],
  ['script', 'text/javascript', 'window.ran = 1'],
  ['a picture that is cut off', 'image/png', '\x89PNG\r\n\x1a\n'],
  ['nothing', 'image/png', ''],
];

describe('web UI: hostile icons', () => {
  const visitor = new BrowserUser(null).start({ checksAxe: false });
  let answer = HOSTILE_ICONS[0];

  beforeAll(async () => {
    await visitor.page.route('**/config.json', async (route) => {
      const response = await route.fetch();
      return route.fulfill({ response, json: { ...((await response.json()) as object), hasIcons: true } });
    });
    await visitor.page.route('**/x/search?*', (route) => route.fulfill({ json: foundWith('icon') }));
    await visitor.page.route('**/x/icon/**', (route) =>
      route.fulfill({ contentType: answer?.[1] ?? '', body: Buffer.from(answer?.[2] ?? '', 'latin1') }),
    );
  });

  it.each(HOSTILE_ICONS)('shows at most a harmless image: %s', async (...icon) => {
    answer = icon;
    const asked = visitor.page.waitForResponse('**/x/icon/**');
    await visitor.open('/catalogue/hostile?search=icon');
    await asked;
    await visitor.page.locator('.card .icon').waitFor();
    expect(await visitor.page.evaluate(() => 'ran' in window)).toBe(false);
    const sources = await visitor.page
      .locator('.card img')
      .evaluateAll((images) => images.map((image) => new URL((image as HTMLImageElement).src).protocol));
    expect(sources.filter((protocol) => protocol !== 'blob:')).toEqual([]);
    expect(await visitor.page.locator('.card svg, .card iframe, .card object, .card embed').count()).toBe(0);
  });
});

describe('web UI: hostile text in a document (XSS)', () => {
  const visitor = new BrowserUser(null).start({ checksAxe: false });
  let text = '';

  beforeAll(async () => {
    await visitor.page.setViewportSize({ width: 700, height: 900 });
    await visitor.page.route('**/v1/admission**', (route) => {
      const isList = !/admission\/\d/.test(route.request().url());
      const item = heldItemOf(text);
      return route.fulfill({ json: isList ? { items: [item], metadata: { count: 1 } } : item });
    });
    await visitor.page.route('**/x/search?*', (route) => route.fulfill({ json: foundWith(text) }));
    await visitor.page.route('**/registry/hostile/v0.1/servers/**', (route) =>
      route.fulfill({ json: { servers: [itemOf(text)], metadata: { count: 1 } } }),
    );
    await visitor.page.route('**/x/dev.toolhive/skills/x/**', (route) => {
      const skill = { namespace: 'x', name: text, description: text, version: '1.0.0', packages: [] };
      return route.fulfill({ json: { skills: [skill], metadata: { count: 1 } } });
    });
    await visitor.page.route('**/x/content/**', (route) => {
      const file = { path: text, digest: text, bytes: 1, executable: true };
      const texts = [text, `# ${text}`, `- ${text}`, `**${text}** [${text}](${text})`, `\`\`\`\n${text}`];
      return route.fulfill({
        json: {
          digest: text,
          bytes: 1,
          files: [file],
          texts: texts.map((each) => ({ path: text, text: each })),
        },
      });
    });
    await visitor.page.route('**/registry/hostile/v0.1/x/setup/**', (route) => {
      const entry = { command: text, args: [text], env: { [text]: text } };
      const inputs = [{ id: text, description: text }];
      const configuration = { servers: { [text]: entry }, inputs };
      const clients = [{ client: 'vscode', configuration }];
      return route.fulfill({ json: { options: [{ kind: 'package', index: 0, clients }] } });
    });
  });

  it.each(HOSTILE.map((hostile) => [hostile.slice(0, 60), hostile]))(
    'renders as plain text in a review: %s',
    async (_, hostile) => {
      text = hostile;
      await visitor.goTo('/nowhere');
      await visitor.goTo(`/review?name=${HOSTILE.indexOf(hostile)}`);
      await visitor.page.locator('.queue tbody tr').waitFor();
      expect(await inspect()).toEqual(HARMLESS);
      await visitor.goTo(`/review/${HOSTILE.indexOf(hostile)}`);
      await visitor.page.locator('.diff ins').first().waitFor();
      await visitor.page.getByText('Whole document').click();
      expect(await inspect()).toEqual(HARMLESS);
      expect(await shows('.item h1 bdi', hostile)).toBe(true);
      expect(await shows('.decisions .comment bdi', hostile)).toBe(true);
    },
  );

  it.each(HOSTILE.map((hostile) => [hostile.slice(0, 60), hostile]))(
    'renders as plain text: %s',
    async (_, hostile) => {
      text = hostile;
      await visitor.goTo('/nowhere');
      await visitor.goTo(`/catalogue/hostile?search=${HOSTILE.indexOf(hostile)}`);
      await visitor.page.locator('.card').waitFor();
      expect(await inspect()).toEqual(HARMLESS);
      expect(await shows('.card-title bdi', hostile)).toBe(true);
      await visitor.goTo(`/catalogue/hostile/server/${HOSTILE.indexOf(hostile)}`);
      await visitor.page.locator('.entry-facts').waitFor();
      await visitor.page.getByText('Published document').click();
      expect(await inspect()).toEqual(HARMLESS);
      expect(await shows('.entry-description bdi', hostile)).toBe(true);
    },
  );

  it.each(HOSTILE.map((hostile) => [hostile.slice(0, 60), hostile]))(
    'renders as plain text in the files of a skill: %s',
    async (_, hostile) => {
      text = hostile;
      await visitor.goTo('/nowhere');
      await visitor.goTo(`/catalogue/hostile/skill/x%2F${HOSTILE.indexOf(hostile)}`);
      await visitor.page.locator('.files li').waitFor();
      expect(await inspect()).toEqual(HARMLESS);
      expect(await shows('.files li bdi', hostile)).toBe(true);
    },
  );

  /** Everything on the page that a text could have injected. */
  const inspect = () =>
    visitor.page.evaluate(() => {
      const main = document.querySelector('main');
      const links = [...document.querySelectorAll('a')].map((link) => link.protocol);
      return {
        ran: 'ran' in window,
        injected: [
          ...(main?.querySelectorAll(
            'script,style,iframe,object,embed,form:not(.filters, .decide),base,link,svg,video,math',
          ) ?? []),
        ].length,
        handlers: [...document.querySelectorAll('*')].filter((element) =>
          element.getAttributeNames().some((name) => name.startsWith('on')),
        ).length,
        images: [...(main?.querySelectorAll('img') ?? [])].length,
        links: links.filter((protocol) => !['http:', 'https:', 'vscode:'].includes(protocol)),
        unsafe: [...document.querySelectorAll('a[target]')].filter(
          (element) => !element.getAttribute('rel')?.includes('noopener'),
        ).length,
        overflows: document.documentElement.scrollWidth > window.innerWidth,
        reordered: /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f]/u.test(main?.innerText ?? ''),
      };
    });

  const HARMLESS = {
    ran: false,
    injected: 0,
    handlers: 0,
    images: 0,
    links: [],
    unsafe: 0,
    overflows: false,
    reordered: false,
  };

  /** Returns whether the element starts with the text's leading ASCII characters. */
  const shows = (where: string, hostile: string) =>
    visitor.page
      .locator(where)
      .first()
      .evaluate(
        (element, start) => (element.textContent ?? '').startsWith(start),
        (/^[\x20-\x7e]*/.exec(hostile)?.[0] ?? '').slice(0, 200),
      );
});
