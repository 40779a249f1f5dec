#!/usr/bin/env node
import { Command, Option } from 'commander';
import 'reflect-metadata';
import type { AccessChecks } from './cli/check.js';
import type { ClientConfigOptions } from './cli/client-config.js';
import type { ExplainOptions } from './cli/explain.js';
import type { MigrateAction } from './cli/migrate.js';
import { buildReport } from './config/environment.js';
import { versionReport } from './health/version-report.js';

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

// Each command loads what it needs, when it runs: `serve` has to start tracing before it loads the application.
const build = versionReport(buildReport());
const program = new Command('registry-server')
  .description('A registry server for MCP servers, skills and plugins')
  .version(`${build.version} (commit ${build.commit})`, '-V, --version', 'print the version and the commit');
const config = () => new Option('--config <file>', 'the configuration, a YAML file').makeOptionMandatory();
const authMode = () =>
  new Option('--auth-mode <mode>', 'anonymous or oauth; overrides auth.mode of the file');

program
  .command('serve')
  .description('apply pending migrations, then serve until SIGTERM')
  .addOption(config())
  .option('--address <host:port>', 'where the API listens', ':8080')
  .option('--internal-address <host:port>', 'where health, readiness and version listen', ':8081')
  .addOption(authMode())
  .action(async ({ config: file, ...flags }: ServeOptions) => {
    const { serve } = await import('./cli/serve.js');
    exit(await serve(file, flags));
  });

program
  .command('check')
  .description('validate the configuration and print every problem; starts nothing')
  .addOption(config())
  .addOption(authMode())
  .option('--access <file>', 'hold the configuration to what this file expects of callers')
  .option('--junit <file>', 'with --access: write what came of it as JUnit XML')
  .option('--against <file>', 'the configuration before: print whose access changes, and how')
  .action(async ({ config: file, access, junit, against, ...flags }: CheckOptions) => {
    const { check } = await import('./cli/check.js');
    const checks = {
      ...(access ? { access } : {}),
      ...(junit ? { junit } : {}),
      ...(against ? { against } : {}),
    };
    exit(await check(file, flags, checks));
  });

program
  .command('explain')
  .description('say whether somebody sees a registry, or an entry of it, and why; starts nothing')
  .addOption(config())
  .requiredOption('--claims <json>', 'what they hold, such as {"org":"acme"}')
  .requiredOption('--registry <name>', 'of the configuration')
  .option('--entry <name>', 'of a server, skill or plugin')
  .option('--type <type>', 'of the entry, where several have the name')
  // contract §10: 1 says no, so that bad use has to be another one.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (options: ExplainOptions) => {
    const { explain } = await import('./cli/explain.js');
    exit(await explain(options));
  });

program
  .command('migrate')
  .description('apply, take back or list database migrations')
  .argument('<action>', 'up, down (the newest one) or status')
  .addOption(config())
  .option('--steps <number>', 'down: how many of the newest ones', '1')
  .option('--yes', 'down: without asking', false)
  .option('--destructive', 'down: also when data is lost', false)
  .action(async (action: string, { config: file, steps, ...down }: MigrateOptions) => {
    if (!['up', 'down', 'status'].includes(action))
      program.error(`migrate: ${action} is none of up, down and status`);
    if (!/^[1-9]\d{0,3}$/.test(steps)) program.error(`migrate: --steps ${steps} is no number from 1 to 9999`);
    const { migrate } = await import('./cli/migrate.js');
    exit(await migrate(action as MigrateAction, file, { ...down, steps: Number(steps) }));
  });

program
  .command('dump')
  .description('copy everything into another PostgreSQL, which must be empty')
  .addOption(config())
  .requiredOption('--to <url>', 'postgres://user@host:5432/database')
  .action(async ({ config: file, to }: { config: string; to: string }) => {
    const { dump } = await import('./cli/dump.js');
    exit(await dump(file, to));
  });

program
  .command('client-config')
  .description('write the servers of a registry as the configuration, or the allow-list, of a client')
  .requiredOption('--url <url>', 'the registry, such as https://registry.example.com/registry/default')
  .requiredOption('--client <client>', 'vscode, copilot, claude-code or cursor')
  .option('--form <form>', 'servers, or allowlist', 'servers')
  .option('--token-file <file>', 'holds the access token to send')
  .option('--output <file>', 'the file to write; standard output when absent')
  .action(async (options: ClientConfigOptions) => {
    const { clientConfig } = await import('./cli/client-config.js');
    exit(await clientConfig(options));
  });

await program.parseAsync();

function exit(code: number): void {
  process.exitCode = code;
  // Handles left open by a failed start must not keep the process alive.
  if (code !== 0) process.exit(code);
}
