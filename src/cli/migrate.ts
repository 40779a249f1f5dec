import { createInterface } from 'node:readline/promises';
import { ENTITIES } from '../app/entities.js';
import { type MigrationStatus, migrationStatus } from '../database/migrate.js';
import { type OpenDatabase, openDatabase } from '../database/open-database.js';
import { configuration } from './check.js';

export type MigrateAction = 'up' | 'down' | 'status';

/** Options for reverting migrations (reference/commands). */
export interface DownOptions {
  readonly steps: number;
  /** Skip the confirmation. */
  readonly yes: boolean;
  /** Allow data loss. */
  readonly destructive: boolean;
}

/** Applies, reverts or lists migrations. Returns exit code 0, or 1 with the reason on standard error. */
export async function migrate(action: MigrateAction, file: string, down: DownOptions): Promise<number> {
  const loaded = configuration(file, {});
  if (!loaded) return 1;
  const { config } = loaded;
  let database: OpenDatabase | undefined;
  try {
    database = await openDatabase(
      {
        connection: config.database,
        dataDirectory: config.dataDirectory,
        onlyReads: action === 'status',
      },
      ENTITIES,
      (message) => process.stderr.write(`${message}\n`),
    );
    for await (const line of act(action, database, down)) process.stdout.write(`${line}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`migrate ${action}: ${error instanceof Error ? error.message : 'failed'}\n`);
    return 1;
  } finally {
    await database?.close();
  }
}

async function* act(
  action: MigrateAction,
  database: OpenDatabase,
  down: DownOptions,
): AsyncGenerator<string> {
  switch (action) {
    case 'up': {
      const applied = await database.migrate();
      yield* applied.length > 0 ? applied.map((name) => `applied ${name}`) : ['nothing to apply'];
      return;
    }
    case 'down':
      yield* revert(database, down);
      return;
    case 'status':
      for (const { name, state } of await migrationStatus(database.dataSource)) yield `${state}  ${name}`;
  }
}

async function* revert(database: OpenDatabase, down: DownOptions): AsyncGenerator<string> {
  const newest = newestFirst(await migrationStatus(database.dataSource)).slice(0, down.steps);
  if (newest.length === 0) {
    yield 'nothing to revert';
    return;
  }
  const losing = newest.filter(({ loses }) => loses !== undefined);
  if (losing.length > 0 && !down.destructive)
    throw new Error(
      `nothing was reverted, because data would be lost: ${losing.map(({ name, loses }) => `${name} (${loses})`).join(', ')}. ` +
        'Pass --destructive to allow it',
    );
  if (!down.yes) await ask(`Revert ${newest.map(({ name }) => name).join(', ')}?`);
  for (let step = 0; step < newest.length; step += 1) {
    const name = await database.undoMigration(down.destructive);
    if (name !== null) yield `reverted ${name}`;
  }
}

function newestFirst(status: readonly MigrationStatus[]): MigrationStatus[] {
  const unknown = status.find(({ state }) => state === 'unknown');
  if (unknown)
    throw new Error(`${unknown.name} was applied by a newer version; only that version can revert it`);
  return status.filter(({ state }) => state === 'applied').reverse();
}

async function ask(question: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new Error('nothing was reverted, because there is no terminal to confirm it; pass --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('nothing was reverted');
}
