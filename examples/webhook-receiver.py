# Receives webhooks (docs/webhooks.md) with the package `standardwebhooks`.
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(Path("/run/secrets/siem").read_text().strip())
seen = set()

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        try:
            event = webhook.verify(body, dict(self.headers))
            if event["id"] not in seen:
                print(event["time"], event["type"], event["subject"])
            seen.add(event["id"])
            self.send_response(204)
        except WebhookVerificationError:
            self.send_response(401)
        self.end_headers()

HTTPServer(("", 8000), Receiver).serve_forever()
