#!/usr/bin/env node
import module from 'node:module';
import { Command, Option } from 'commander';
import 'reflect-metadata';
import type { AccessChecks } from './cli/check.js';
import type { ClientConfigOptions } from './cli/client-config.js';
import type { ExplainOptions } from './cli/explain.js';
import type { MigrateAction } from './cli/migrate.js';
import type { PolicyOptions } from './cli/policy.js';
import { buildReport } from './config/environment.js';
import { versionReport } from './health/version-report.js';
import { MIN_OPEN_FILES, openFilesLimit } from './limits/own-resources.js';

interface CheckOptions extends ServeOptions, AccessChecks {}

interface ServeOptions {
  config: string;
  address?: string;
  internalAddress?: string;
  authMode?: string;
}

interface MigrateOptions {
  config: string;
  steps: string;
  yes: boolean;
  destructive: boolean;
}

// Since Node.js 22.1, later starts load compiled code from a cache. If the cache cannot be written, as in a read-only
// container, nothing changes.
(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();

const build = versionReport(buildReport());
// Each command loads its modules when it runs: `serve` must start tracing before it loads the application.
const program = new Command('registry-server')
  .description('A registry server for MCP servers, skills and plugins')
  .version(`${build.version} (commit ${build.commit})`, '-V, --version', 'print the version and the commit');
const config = () => new Option('--config <file>', 'the configuration, a YAML file').makeOptionMandatory();
const authMode = () =>
  new Option('--auth-mode <mode>', 'anonymous or oauth; overrides auth.mode in the file');

program
  .command('serve')
  .description('apply pending migrations, then serve until SIGTERM')
  .addOption(config())
  .option('--address <host:port>', 'listen address for the API', ':8080')
  .option('--internal-address <host:port>', 'listen address for health, readiness and version', ':8081')
  .addOption(authMode())
  .action(async ({ config: file, ...flags }: ServeOptions) => {
    const openFiles = openFilesLimit();
    if (openFiles < MIN_OPEN_FILES)
      program.error(
        `serve: the process may open ${openFiles} files, but needs ${MIN_OPEN_FILES} or more: ` +
          'raise the limit of open files (ulimit -n, LimitNOFILE)',
      );
    const { serve } = await import('./cli/serve.js');
    exit(await serve(file, flags));
  });

program
  .command('check')
  .description('validate the configuration and print every problem, without starting the server')
  .addOption(config())
  .addOption(authMode())
  .option('--access <file>', 'check the access of callers against the expectations in this file')
  .option('--junit <file>', 'with --access: write the results as JUnit XML')
  .option('--against <file>', 'the previous configuration: print whose access changes and how')
  .addOption(
    new Option(
      '--fail-on <changes>',
      'with --against: exit with 1 if somebody gains access, or at any change',
    )
      .choices(['none', 'gain', 'any'])
      .default('none'),
  )
  .option('--online', 'also contact the identity providers, the database and the sources')
  .action(async ({ config: file, access, junit, against, failOn, online, ...flags }: CheckOptions) => {
    const { check } = await import('./cli/check.js');
    const checks = {
      ...(access ? { access } : {}),
      ...(junit ? { junit } : {}),
      ...(against ? { against } : {}),
      ...(failOn ? { failOn } : {}),
      ...(online ? { online } : {}),
    };
    exit(await check(file, flags, checks));
  });

program
  .command('explain')
  .description('explain whether a caller sees a registry or one of its entries, without starting the server')
  .addOption(config())
  .requiredOption('--registry <name>', 'a registry in the configuration')
  .option('--entry <name>', 'the name of a server, skill or plugin')
  .option('--type <type>', 'the type of the entry, if entries of several types share the name')
  .option('--claims <json>', 'the caller: their mapped claims, such as {"org":"acme"}')
  .option('--token-file <file>', 'the caller: a file with a token, which is not verified')
  .option('--provider <name>', 'the caller: the provider of --token-claims')
  .option('--token-claims <json>', 'the caller: the claims of a token, before the mapping')
  .option('--anonymous', 'the caller: someone without a token')
  .option('--key <name>', 'the caller: the name of a registry key')
  // reference/explain: usage errors exit with 2, because 1 means refused.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (options: ExplainOptions) => {
    const { explain } = await import('./cli/explain.js');
    exit(await explain(options));
  });

program
  .command('migrate')
  .description('apply, revert or list database migrations')
  .argument('<action>', 'up, down (reverts the newest) or status')
  .addOption(config())
  .option('--steps <number>', 'down: how many migrations to revert', '1')
  .option('--yes', 'down: skip the confirmation', false)
  .option('--destructive', 'down: allow loss of data', false)
  .action(async (action: string, { config: file, steps, ...down }: MigrateOptions) => {
    if (!['up', 'down', 'status'].includes(action))
      program.error(`migrate: ${action} must be up, down or status`);
    if (!/^[1-9]\d{0,3}$/.test(steps))
      program.error(`migrate: --steps ${steps} must be a number from 1 to 9999`);
    const { migrate } = await import('./cli/migrate.js');
    exit(await migrate(action as MigrateAction, file, { ...down, steps: Number(steps) }));
  });

program
  .command('dump')
  .description('copy the database into another, empty PostgreSQL database')
  .addOption(config())
  .requiredOption('--to <url>', 'postgres://user@host:5432/database')
  .action(async ({ config: file, to }: { config: string; to: string }) => {
    const { dump } = await import('./cli/dump.js');
    exit(await dump(file, to));
  });

program
  .command('client-config')
  .description('write the servers of a registry as the configuration, allow-list or deny-list of a client')
  .requiredOption('--url <url>', 'the registry, such as https://registry.example.com/registry/default')
  .requiredOption('--client <client>', 'vscode, copilot, claude-code, cursor or codex')
  .option('--form <form>', 'servers, allowlist, denylist, managed or plugins', 'servers')
  .option('--token-file <file>', 'the file with the access token')
  .option('--output <file>', 'the file to write; standard output by default')
  .action(async (options: ClientConfigOptions) => {
    const { clientConfig } = await import('./cli/client-config.js');
    exit(await clientConfig(options));
  });

program
  .command('policy')
  .description('write the client configuration files of every team, from the catalog in the database')
  .addOption(config())
  .requiredOption('--teams <file>', 'a YAML file with a `teams` list')
  .requiredOption('--out <folder>', 'the folder to write to, as NAME/CLIENT.FORM.EXT')
  .option('--check', 'write nothing, and exit with 1 if a file would change')
  // reference/client-config: usage errors exit with 2, because 1 means drift.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (options: PolicyOptions) => {
    const { policy } = await import('./cli/policy.js');
    exit(await policy(options));
  });

// The reader of a pipe may close it early, as `head` does; the command still finishes.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
await program.parseAsync();

function exit(code: number): void {
  process.exitCode = code;
  // Handles left open by a failed start must not keep the process alive.
  if (code !== 0) process.exit(code);
}
