// Bundles the compiled program and the packages it uses into dist/bundle: a start reads some files instead of two thousand, and
// the image and the npm package hold what runs instead of whole packages. dist/main.js then starts the bundle.
import { build } from 'esbuild';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

// Tracing replaces `pg` when it is required, and Swagger UI's files are served from its package; the others are bundled.
const dependencies = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).dependencies);
// Nest tries to load these, and does without.
const absent = ['@fastify/static', '@nestjs/microservices', '@nestjs/websockets'];

const { metafile } = await build({
  entryPoints: {
    main: 'dist/main.js',
    'large-body.worker': 'dist/app/large-body.worker.js',
    'registry-file.worker': 'dist/sync/file/registry-file.worker.js',
  },
  outdir: 'dist/bundle',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  // ES modules where a package has both, so that their names can be imported lazily.
  mainFields: ['module', 'main'],
  target: 'node20.19',
  external: [...dependencies, ...absent],
  // CommonJS packages expect these.
  banner: {
    js: `import { createRequire as _createRequire } from 'node:module';
const require = _createRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;`,
  },
  // Errors and logged stacks name classes and functions.
  keepNames: true,
  minifyWhitespace: true,
  minifySyntax: true,
  // Node prints the line of an uncaught error.
  lineLimit: 160,
  sourcemap: true,
  metafile: true,
  logLevel: 'error',
});

writeFileSync('dist/main.js', "#!/usr/bin/env node\nimport './bundle/main.js';\n");
writeFileSync('dist/bundle/licenses.txt', licences(Object.keys(metafile.inputs)));

/** The licence of each bundled package, which most licences require us to include. */
function licences(files) {
  const folders = new Set(files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]));
  folders.delete(undefined);
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
      const texts = readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && /^(licen[cs]e|notice)/i.test(entry.name))
        .map((entry) => readFileSync(`${folder}/${entry.name}`, 'utf8').trim());
      return [`${name} ${version}: ${license}`, ...texts].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}
