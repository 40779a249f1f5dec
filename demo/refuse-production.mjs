import process from 'node:process';

// Runs before the build, because a production installation has no development dependencies and cannot build.
if (process.env.NODE_ENV === 'production') {
  process.stderr.write(
    'The demo does not run with NODE_ENV=production: its identity provider lets anyone log in as any user.\n',
  );
  process.exit(1);
}
