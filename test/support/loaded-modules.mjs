// Preloaded into a service (`node --import`): reports on stderr when the part of the bundle with the Kubernetes client, or with
// the MCP SDK, is loaded.
import { register } from 'node:module';

const hooks = `
  import { writeSync } from 'node:fs';
  const parts = { 'the Kubernetes client': 'CoreV1ApiRequestFactory', 'the MCP SDK': 'server/discover' };
  export async function load(url, context, next) {
    const loaded = await next(url, context);
    const text = String(loaded.source ?? '');
    if (url.includes('/dist/bundle/'))
      for (const [part, marker] of Object.entries(parts)) if (text.includes(marker)) writeSync(2, 'loads ' + part + '\\n');
    return loaded;
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
