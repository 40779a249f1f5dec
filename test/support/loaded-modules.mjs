// Preloaded into a service (`node --import`): reports on stderr when the Kubernetes client or the MCP SDK is
// loaded.
import { register } from 'node:module';

const hooks = `
  import { writeSync } from 'node:fs';
  export function load(url, context, next) {
    if (/\\/node_modules\\/@(kubernetes|modelcontextprotocol)\\//.test(url)) writeSync(2, 'loads ' + url + '\\n');
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
