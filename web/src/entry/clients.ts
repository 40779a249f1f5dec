/** What can run a server: ToolHive, and the clients for which the server generates configuration. */
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

/** A short form for a card. */
export function worksWith(clients: readonly string[]): string {
  const editors = Object.keys(CLIENT_TITLES).filter((client) => client !== 'toolhive');
  if (clients.length === 0) return 'Not installable from here';
  const all = editors.every((client) => clients.includes(client));
  return `Works with ${all ? 'every client' : clientNames(clients)}`;
}
