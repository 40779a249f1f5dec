#!/usr/bin/env node
import 'reflect-metadata';
import { Command, Option } from 'commander';
import type { MigrateAction } from './cli/migrate.js';
import { versionLine } from './cli/version.js';

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
const program = new Command('registry-server')
  .description('A registry server for MCP servers, skills and plugins')
  .version(versionLine(), '-V, --version', 'print the version and the commit');
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
  .action(async ({ config: file, ...flags }: ServeOptions) => {
    const { check } = await import('./cli/check.js');
    exit(check(file, flags));
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

await program.parseAsync();

function exit(code: number): void {
  process.exitCode = code;
  // Handles left open by a failed start must not keep the process alive.
  if (code !== 0) process.exit(code);
}
