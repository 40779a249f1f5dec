import type { Entry } from './install-values.js';

/** Some systems truncate longer URLs when they launch a program. */
const MAX_LINK = 2_000;

/**
 * Returns a link that makes VS Code ask to install the server
 * (https://code.visualstudio.com/api/extension-guides/ai/mcp#create-an-mcp-installation-url). If it would be too long,
 * the prompts show the variables' names without descriptions.
 */
export function vscodeLink(name: string, entry: Entry, inputs: unknown): string | undefined {
  return (
    vscodeLinkWith({ name, ...entry, inputs }) ?? vscodeLinkWith({ name, ...entry, inputs: named(inputs) })
  );
}

function vscodeLinkWith(settings: Entry): string | undefined {
  return short(`vscode:mcp/install?${encodeURIComponent(JSON.stringify(settings))}`);
}

/** Inputs whose descriptions are the last segments of their ids, which the server forms of names and variables. */
function named(inputs: unknown): unknown {
  if (!Array.isArray(inputs)) return inputs;
  return (inputs as readonly Entry[]).map((input) => ({
    ...input,
    description: String(input['id']).split('/').at(-1),
  }));
}

/** Returns a link that makes Cursor ask to install the server (https://cursor.com/docs/context/mcp/install-links). */
export function cursorLink(name: string, entry: Entry): string | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(entry));
  const config = btoa(String.fromCharCode(...bytes));
  const query = `name=${encodeURIComponent(name)}&config=${encodeURIComponent(config)}`;
  return short(`cursor://anysphere.cursor-deeplink/mcp/install?${query}`);
}

function short(link: string): string | undefined {
  return link.length <= MAX_LINK ? link : undefined;
}
