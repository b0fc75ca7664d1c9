/** Where compiled modules are kept, in the folder that a bundle is installed in. */
export const CACHE = 'cache'

/**
 * With what Node compiles, beside the program that `compileProgram` returns. So large a heap (MiB) is not collected
 * meanwhile, but for its youngest part.
 */
export const COMPILE_FLAGS = [
  '--disable-warning=ExperimentalWarning',
  '--hash-seed=1',
  '--random-seed=1',
  '--initial-old-space-size=2048',
] as const

/** Paths of modules, from the folder that a bundle is installed in. */
export interface Compiled {
  /** Run with --version: what that needs is compiled whole. */
  readonly programs: readonly string[]
  /** Threads and programs that start when they are loaded: compiled, not run. */
  readonly starting: readonly string[]
  /** Run: they only define what others use. */
  readonly others: readonly string[]
}

/**
 * A module that compiles those of a bundle in the folder that it runs in, and keeps the result in `CACHE` there. Code is
 * only good for processors with the same instructions.
 *
 * A compiled module is the same bytes each time only if V8 hashes names with the same seed, and if no garbage collection
 * counted how long its functions had not been used. Node takes over what it finds only if it was compiled with the same
 * flags; so those are reset once they are in use.
 */
export function compileProgram(modules: Compiled): string {
  return `const { programs, starting, others } = ${JSON.stringify(modules)}\n${PROGRAM}`
}

/** A module that fails before those after it run; they are compiled by then. */
const PROGRAM = `
import { enableCompileCache, flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

const folder = process.cwd() + '/'
const reset = ['--hash-seed=0', '--random-seed=0', '--initial-old-space-size=0']
for (const flag of reset) setFlagsFromString(flag)
const { directory, message } = enableCompileCache(folder + '${CACHE}')
if (directory === undefined) throw new Error(message)
process.stdout.write = () => true
for (const path of programs) {
  process.argv = [process.execPath, folder + path, '--version']
  await import(folder + path)
  if (process.exitCode) throw new Error(path + ' ended with ' + process.exitCode)
}
for (const path of others) await import(folder + path)
const lines = ['data:text/javascript,throw%200', ...starting.map((path) => 'file://' + folder + path)]
const source = lines.map((line) => 'import ' + JSON.stringify(line)).join('\\n')
await import('data:text/javascript,' + encodeURIComponent(source)).catch((reason) => {
  if (reason !== 0) throw reason
})
flushCompileCache()
process.exit()
`
