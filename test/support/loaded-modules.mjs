// Loaded into a service before it starts (`node --import`): says on stderr when it loads the client of Kubernetes or the SDK of MCP.
import { register } from 'node:module';

const hooks = `
  import { writeSync } from 'node:fs';
  export function load(url, context, next) {
    if (/\\/node_modules\\/@(kubernetes|modelcontextprotocol)\\//.test(url)) writeSync(2, 'loads ' + url + '\\n');
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
