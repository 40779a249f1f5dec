// Bundles the compiled program and the packages it uses into dist/bundle: a start reads some files instead of two thousand, and
// the image and the npm package hold what runs instead of whole packages. dist/main.js then starts the bundle.
import { build } from 'esbuild';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

// Tracing replaces `pg` when it is required, and Swagger UI's files are served from its package; the others are bundled.
const dependencies = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).dependencies);
// Nest tries to load these, and does without.
const absent = ['@fastify/static', '@nestjs/microservices', '@nestjs/websockets'];

/** Modules that packages load but nothing here calls. Empty modules take their place. */
const UNUSED = [
  // body-parser's decoder of text, because we read bytes, and Nest's uploads.
  /\/node_modules\/iconv-lite\//,
  /\/@nestjs\/platform-express\/multer\/index\.js$/,
  // TypeORM's other databases, its search for entities in folders, and its formatter of logged SQL.
  /\/node_modules\/typeorm\/driver\/(?!postgres\/|types\/)[\w-]+\/\w+\.js$/,
  /\/node_modules\/(@sqltools\/formatter|tinyglobby)\//,
  // class-validator's rule for phone numbers, and Swagger's documents as YAML.
  /\/node_modules\/libphonenumber-js\//,
  /(?<!client-node)\/node_modules\/js-yaml\//,
  // undici is used for its agents and `request`.
  /\/node_modules\/undici\/lib\/(web|mock|cache|interceptor)\//,
];
const withoutUnused = {
  name: 'without-unused',
  setup(bundle) {
    bundle.onLoad({ filter: /node_modules/ }, ({ path }) => {
      if (!UNUSED.some((pattern) => pattern.test(path))) return undefined;
      const isModule = /\.mjs$|@nestjs/.test(path);
      return {
        contents: isModule
          ? 'export default {};'
          : 'class Unused {} module.exports = new Proxy({}, { get: () => Unused });',
      };
    });
    // It looks for classes that our version of TypeORM does not have, and would load a second copy of TypeORM for that.
    bundle.onLoad({ filter: /@nestjs\/typeorm\/dist\/common\/typeorm-compat\.js$/ }, () => ({
      contents: 'export const Connection = undefined, AbstractRepository = undefined;',
    }));
    // The MCP SDK's own copy of Ajv, for schemas that clients send: message-handler.ts accepts none.
    bundle.onLoad({ filter: /@modelcontextprotocol\/server\/dist\/shimsNode\.mjs$/ }, () => ({
      contents:
        "export { default as process } from 'node:process'; export const DefaultJsonSchemaValidator = undefined;",
    }));
    // Nest's own ValidationPipe imports all of them; nothing uses that pipe.
    bundle.onResolve({ filter: /^class-(validator|transformer)$/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

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
  // Nest, TypeORM and errors use the names of classes.
  keepNames: true,
  minifyWhitespace: true,
  minifySyntax: true,
  // Node prints the line of an uncaught error.
  lineLimit: 160,
  sourcemap: true,
  // licenses.txt has them.
  legalComments: 'none',
  plugins: [withoutUnused],
  metafile: true,
  logLevel: 'error',
});

nameOnlyClasses(Object.keys(metafile.outputs));
writeFileSync('dist/main.js', "#!/usr/bin/env node\nimport './bundle/main.js';\n");
writeFileSync('dist/bundle/licenses.txt', licences(Object.keys(metafile.inputs)));

/**
 * Makes esbuild's helper set only names that begin with a capital letter: the names of classes. It would also name each
 * closure whenever one is created, which takes a twentieth of the time of a request.
 */
function nameOnlyClasses(files) {
  const name = '__defProp(target,"name",{value,configurable:!0})';
  const helpers = files.filter((file) => {
    const text = readFileSync(file, 'utf8');
    const changed = text.replace(`=(target,value)=>${name}`, `=(target,value)=>value<"["?${name}:target`);
    if (changed !== text) writeFileSync(file, changed);
    return changed !== text;
  });
  if (helpers.length !== 1) throw new Error(`Found esbuild's helper in ${helpers.length} files`);
}

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
