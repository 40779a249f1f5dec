// Receives webhooks (docs/webhooks.md) with the package `standardwebhooks`.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(readFileSync('/run/secrets/siem', 'utf8').trim());
const seen = new Set();

createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    try {
      const event = webhook.verify(body, request.headers);
      if (!seen.has(event.id)) console.log(event.time, event.type, event.subject);
      seen.add(event.id);
      response.writeHead(204).end();
    } catch {
      response.writeHead(401).end();
    }
  });
}).listen(8000);
