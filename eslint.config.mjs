import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

// Imports point one way: a folder may import those on lines above its own, and itself. `app` is the rest of src.
const LAYERS = [
  ['json', 'claims'],
  ['config', 'database', 'telemetry', 'outbound'],
  ['http'],
  ['auth'],
  ['authz'],
  ['sources'],
  ['registries'],
  ['entries'],
  ['catalog', 'discovery', 'sync', 'health'],
  // Filters as syncs do, and shares the event loop as they do.
  ['kubernetes'],
];

const direction = LAYERS.flatMap((folders, level) =>
  folders.map((folder) => {
    const siblings = folders.filter((other) => other !== folder && level > 1);
    const above = [...LAYERS.slice(level + 1).flat(), ...siblings, 'cli'];
    return {
      files: [`src/${folder}/**/*.ts`],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: `^\\.\\./(${above.join('|')})/`,
                message: `Imports point one way: ${folder}/ stands below (see CONTRIBUTING.md).`,
              },
              {
                regex: '^\\.\\./[a-z-]+\\.js$',
                message: 'Nothing below src/*.ts may import the application itself.',
              },
            ],
          },
        ],
      },
    };
  }),
);

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'data/', 'coverage/'] },
  eslint.configs.recommended,
  tseslint.configs.strict,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
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
    files: [
      'src/**/*.controller.ts',
      'src/**/*.service.ts',
      'src/**/*.queries.ts',
      'src/**/*.guard.ts',
      'src/**/*.ts',
    ],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  ...direction,
);
