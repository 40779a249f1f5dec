import process from 'node:process';

// By itself and before the build, which an installation for production couldn't do: it has no development dependencies.
if (process.env.NODE_ENV === 'production') {
  process.stderr.write(
    'The demo does not run with NODE_ENV=production: whoever reaches its identity provider can be anybody.\n',
  );
  process.exit(1);
}
