/** Hosts that give each user a namespace, by the first two labels of its name. */
const HOSTS = new Map([
  ['io.github', 'github.com'],
  ['com.github', 'github.com'],
  ['io.gitlab', 'gitlab.com'],
  ['com.gitlab', 'gitlab.com'],
]);

/** `io.github.acme/tool` → `github.com/acme`, `com.acme.tools/tool` → `tools.acme.com` */
export function publisherOf(name: string): string {
  const namespace = name.slice(0, Math.max(0, name.indexOf('/')));
  const labels = namespace.split('.');
  const host = HOSTS.get(labels.slice(0, 2).join('.'));
  return host !== undefined && labels.length > 2
    ? `${host}/${labels.slice(2).join('.')}`
    : labels.reverse().join('.');
}
