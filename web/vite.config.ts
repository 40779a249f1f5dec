import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // Whatever the prefix is that a proxy puts before the page: nothing in it names a path from the root.
  base: './',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    // What the page is made of are files: its Content-Security-Policy allows no data: URL.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
