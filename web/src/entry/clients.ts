/** What can run a server: the clients that the server writes configuration for, and ToolHive. */
export const CLIENT_TITLES: Readonly<Record<string, string>> = {
  vscode: 'VS Code',
  cursor: 'Cursor',
  'claude-code': 'Claude Code',
  codex: 'Codex',
  copilot: 'Copilot CLI',
  toolhive: 'ToolHive',
};

/** `VS Code, Cursor, ToolHive` */
export function clientNames(clients: readonly string[]): string {
  return Object.entries(CLIENT_TITLES)
    .flatMap(([client, title]) => (clients.includes(client) ? [title] : []))
    .join(', ');
}

/** The same in a few words, for a card. */
export function worksWith(clients: readonly string[]): string {
  const editors = Object.keys(CLIENT_TITLES).filter((client) => client !== 'toolhive');
  if (clients.length === 0) return 'Not installable from here';
  const all = editors.every((client) => clients.includes(client));
  return `Works with ${all ? 'every client' : clientNames(clients)}`;
}
