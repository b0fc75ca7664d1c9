import { globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Modules of src that the daemon never imports. */
const OTHER_MODULES = [
  ...['apiserver', 'auth', 'controllers', 'orchserver', 'sandbox', 'storage', 'uml'],
].map((module) => `src/${module}`)

/** What tests alone need, and what packages bring beside the code that runs. */
const UNUSED = [
  'src/**/*.test.ts',
  'src/**/testing',
  'node_modules/.*',
  'node_modules/node-linux-*/{include,share,CHANGELOG.md,README.md}',
  'node_modules/**/*.{map,d.ts,d.mts,d.cts}',
  'node_modules/**/{test,tests,bench,benchmarks,benchmark,docs,example,examples}',
  'node_modules/@types',
  'node_modules/{@bufbuild,@grpc,@peculiar,reflect-metadata}',
]

/** Files of node_modules that look unused and are not. */
const KEPT = ['node_modules/.package-lock.json']

const everything = { cwd: process.cwd() }
const unused = [...packagesForDevelopment(), ...OTHER_MODULES, ...globSync(UNUSED, everything)]
for (const path of unused) {
  if (!KEPT.includes(path)) rmSync(path, { recursive: true, force: true })
}

/** Folders that `npm ci --omit=dev` would not have made. */
function packagesForDevelopment(): readonly string[] {
  const lock = JSON.parse(readFileSync(join(everything.cwd, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  return Object.entries(lock.packages)
    .filter(([, { dev }]) => dev === true)
    .map(([path]) => path)
}
