import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/**
 * The folders of src, lowest first: a folder may import from itself and from the ones before it. `main.ts` is
 * above them all.
 */
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
  'visibility',
  'entries',
  'admission',
  'sync',
  'catalog',
  'content',
  'marketplace',
  'mcp-publisher',
  'explain',
  'webhooks',
  'discovery',
  'web-ui',
  'health',
  'mcp-endpoint',
  'app',
  'cli',
];

const PROJECTS = [
  'tsconfig.json',
  'web/tsconfig.json',
  'test/browser/tsconfig.json',
  'test/clients/tsconfig.json',
];

// Early feedback in the editor; test/conventions/structure.spec.ts also checks types, cycles and other forms
// of import.
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
              message: `Imports point one way: ${folder}/ is a lower folder (see CONTRIBUTING.md).`,
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
    // Builds each program once; linting all files with `projectService` takes a third longer.
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
      // Nest modules are classes with nothing but a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-unsafe-function-type': 'off',
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read the environment in src/config only.' },
      ],
    },
  },
  {
    files: ['src/config/**/*.ts', 'test/**/*.ts', 'src/**/*.spec.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // The decorators' metadata needs the classes named in constructors and handlers at run time.
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/consistent-type-imports': 'off',
    },
  },
  ...direction,
);
