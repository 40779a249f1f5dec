// Preloaded into a service (`node --import`): reports on stderr when the Kubernetes client or the MCP SDK is loaded.
import { register } from 'node:module';

const hooks = `
  import { writeSync } from 'node:fs';
  const packages = { '@kubernetes/client-node': 'the Kubernetes client', '@modelcontextprotocol/server': 'the MCP SDK' };
  export async function load(url, context, next) {
    for (const [name, title] of Object.entries(packages))
      if (url.includes('/node_modules/' + name + '/')) writeSync(2, 'loads ' + title + '\\n');
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
