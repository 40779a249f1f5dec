import { migrationStatus } from '../database/migrate.js';
import { type OpenDatabase, openDatabase } from '../database/open-database.js';
import { ENTITIES } from '../app/entities.js';
import { configuration } from './configuration.js';

export type MigrateAction = 'up' | 'down' | 'status';

/** Applies, takes back or lists migrations. Exit code 0, or 1 with the reason on standard error. */
export async function migrate(action: MigrateAction, file: string): Promise<number> {
  const loaded = configuration(file, {});
  if (!loaded) return 1;
  const { config } = loaded;
  let database: OpenDatabase | undefined;
  try {
    database = await openDatabase(
      { connection: config.database, dataDirectory: config.dataDirectory },
      ENTITIES,
      (message) => process.stderr.write(`${message}\n`),
    );
    for (const line of await act(action, database)) process.stdout.write(`${line}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`migrate ${action}: ${error instanceof Error ? error.message : 'failed'}\n`);
    return 1;
  } finally {
    await database?.close();
  }
}

async function act(action: MigrateAction, database: OpenDatabase): Promise<string[]> {
  switch (action) {
    case 'up': {
      const applied = await database.migrate();
      return applied.length > 0 ? applied.map((name) => `applied ${name}`) : ['nothing to apply'];
    }
    case 'down': {
      const name = await database.undoMigration();
      return [name === null ? 'nothing to take back' : `took back ${name}`];
    }
    case 'status': {
      const status = await migrationStatus(database.dataSource);
      return status.map(({ name, applied }) => `${applied ? 'applied' : 'pending'}  ${name}`);
    }
  }
}
