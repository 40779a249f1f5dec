import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** The folders of src, lowest first: a folder may import those before it, and itself. `main.ts` stands above them all. */
export const FOLDERS = [
  'json',
  'claims',
  'validation',
  'documents',
  'client-config',
  'source-kinds',
  'config',
  'outbound',
  'limits',
  'database',
  'telemetry',
  'http',
  'auth',
  'authz',
  'claim-sets',
  'audit',
  'sources',
  'registries',
  'views',
  'entries',
  'catalog',
  'publisher',
  'access',
  'discovery',
  'page',
  'health',
  'mcp',
  'sync',
  'kubernetes',
  'app',
  'cli',
];

const PROJECTS = [
  'tsconfig.json',
  'web/tsconfig.json',
  'test/browser/tsconfig.json',
  'test/clients/tsconfig.json',
];

// Says so in the editor already; test/conventions/structure.spec.ts also follows types, cycles and the other forms of import.
const direction = FOLDERS.map((folder, position) => {
  const above = [...FOLDERS.slice(position + 1).map((name) => `${name}/`), 'main\\.js$'];
  return {
    files: [`src/${folder}/**/*.ts`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(\\.\\./)+(${above.join('|')})`,
              message: `Imports point one way: ${folder}/ stands below (see CONTRIBUTING.md).`,
            },
          ],
        },
      ],
    },
  };
});

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'node_modules/',
      'data/',
      'coverage/',
      'release/',
      'test/clients/generated/',
      'web/generated/',
    ],
  },
  eslint.configs.recommended,
  tseslint.configs.strict,
  {
    files: ['**/*.{ts,tsx}'],
    // Each program is made once; the service of the editor, which `projectService` would ask, takes a third longer for all files.
    languageOptions: { parserOptions: { project: PROJECTS, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      // Nest's modules are classes that only carry a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-unsafe-function-type': 'off',
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'The environment is read in src/config only.' },
      ],
    },
  },
  {
    files: ['src/config/**/*.ts', 'test/**/*.ts', 'src/**/*.spec.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // The classes named in constructors and handlers are read at run time by the decorators' metadata.
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/consistent-type-imports': 'off',
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Decorator > CallExpression[callee.name="Query"]',
          message: 'A query is taken by @ValidQuery(), which validates it.',
        },
      ],
    },
  },
  ...direction,
);
