#!/usr/bin/env node
import 'reflect-metadata';
import { Command, Option } from 'commander';
import type { ClientConfigOptions } from './cli/client-config.js';
import type { MigrateAction } from './cli/migrate.js';
import { versionLine } from './cli/version.js';

interface ServeOptions {
  config: string;
  address?: string;
  internalAddress?: string;
  authMode?: string;
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
  .action(async (action: string, options: { config: string }) => {
    if (!['up', 'down', 'status'].includes(action))
      program.error(`migrate: ${action} is none of up, down and status`);
    const { migrate } = await import('./cli/migrate.js');
    exit(await migrate(action as MigrateAction, options.config));
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
