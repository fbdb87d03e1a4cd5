// Published code imports nothing from the page, tests, benchmarks, examples or scripts; these import
// the package's public entries only.
module.exports = {
  forbidden: [
    {
      name: 'published-code-imports-upward',
      severity: 'error',
      from: { path: '^pkg/src/' },
      to: { path: '^(www|tests|benches|examples|scripts|crates)/' },
    },
    {
      name: 'page-imports-upward',
      severity: 'error',
      from: { path: '^www/(src|server)/' },
      to: { path: '^(pkg/src|tests|benches|examples|scripts)/' },
    },
    {
      name: 'entry-imports-the-command',
      severity: 'error',
      from: { path: '^pkg/src/', pathNot: '^pkg/src/cli/' },
      to: { path: '^pkg/src/cli/' },
    },
    {
      name: 'unresolvable',
      severity: 'error',
      from: { path: '^(pkg/src|www/src|www/server)/' },
      to: { couldNotResolve: true, pathNot: '\\.wasm(\\?module)?$' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^pkg/dist/'] },
    exclude: { path: '(^|/)dist/page/' },
    tsPreCompilationDeps: false,
    tsConfig: { fileName: 'pkg/tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'default'] },
  },
}
