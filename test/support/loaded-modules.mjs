// Loaded into a service before it starts (`node --import`): says on stderr when it loads the client of Kubernetes.
import { register } from 'node:module';

const hooks = `
  import { writeSync } from 'node:fs';
  export function load(url, context, next) {
    if (url.includes('/node_modules/@kubernetes/')) writeSync(2, 'loads ' + url + '\\n');
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
