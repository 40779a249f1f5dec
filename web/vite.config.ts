import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // Relative URLs work behind a proxy under any prefix.
  base: './',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    // The Content-Security-Policy forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
