import { flushCompileCache } from 'node:module'
import { packageVersion } from '../lib/package-version.ts'
import { MODES } from './modes/mode-registry.ts'
import { runProgram } from './program.ts'

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  version: packageVersion(),
  modes: MODES.map(({ name }) => name),
  loadDaemon,
})

/** Where NODE_COMPILE_CACHE is set, the next start needs neither compiler nor type stripper. */
async function loadDaemon() {
  const daemon = await import('./daemon.ts')
  flushCompileCache()
  return daemon
}
