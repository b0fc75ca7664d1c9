import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { runProgram } from './program.ts'

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  version: packageVersion(),
  loadServer,
})

/** Where NODE_COMPILE_CACHE is set, the next start needs neither compiler nor type stripper. */
async function loadServer() {
  const { runServer } = await import('./server.ts')
  flushCompileCache()
  return { runServer }
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}
