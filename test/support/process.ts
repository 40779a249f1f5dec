import { Cli } from './cli.js';
import { callWith, type Reply, Sender, type Sent } from './http.js';
import type { Issuer } from './issuer.js';

/** A service in a separate process, called with the issuer's tokens. */
export class ServedProcess {
  private constructor(
    private readonly cli: Cli,
    readonly origin: string,
    private readonly issuer: Issuer,
  ) {}

  get pid(): number {
    return this.cli.child.pid ?? 0;
  }

  static async start(
    configuration: string,
    issuer: Issuer,
    environment: Record<string, string> = {},
  ): Promise<ServedProcess> {
    const cli = Cli.serve(configuration, environment);
    return new ServedProcess(cli, await cli.origin(), issuer);
  }

  as(claims: Record<string, unknown>): Sender {
    return new Caller(this.origin, this.issuer.sign(claims));
  }

  async stop(): Promise<void> {
    this.cli.child.kill('SIGTERM');
    await this.cli.finished;
  }
}

class Caller extends Sender {
  constructor(
    private readonly origin: string,
    private readonly token: string,
  ) {
    super();
  }

  send(method: string, path: string, { headers, body }: Sent = {}): Promise<Reply> {
    const authorization = { Authorization: `Bearer ${this.token}` };
    return callWith(this.origin + path, method, { headers: { ...authorization, ...headers }, body });
  }
}
