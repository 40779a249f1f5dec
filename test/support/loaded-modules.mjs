// Preloaded into a service (`node --import`): reports on stderr when the Kubernetes client, or the module that imports the MCP
// SDK, is loaded. Both are loaded by `require`.
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const MODULES = {
  '/node_modules/@kubernetes/client-node/': 'the Kubernetes client',
  '/mcp-endpoint/message-handler.js': 'the MCP SDK',
};

if (isMainThread) {
  const { cache } = createRequire(import.meta.url);
  setInterval(() => {
    for (const [path, title] of Object.entries(MODULES))
      if (Object.keys(cache).some((file) => file.includes(path))) writeSync(2, `loads ${title}\n`);
  }, 100).unref();
}
