import { flushCompileCache } from 'node:module'
import { packageVersion } from '../lib/process.ts'
import { runProgram } from './command/program.ts'

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  version: packageVersion(),
  loadServer,
})

/** If NODE_COMPILE_CACHE is set, the next start skips compilation and type stripping. */
async function loadServer() {
  const { checkStart } = await import('./check-start.ts')
  const { runServer } = await import('./server.ts')
  flushCompileCache()
  return { checkStart, runServer }
}
