import process from 'node:process';

// Runs separately, before the build, which a production installation cannot do: it has no development
// dependencies.
if (process.env.NODE_ENV === 'production') {
  process.stderr.write(
    'The demo does not run with NODE_ENV=production: its identity provider lets anyone log in as any user.\n',
  );
  process.exit(1);
}
