import { readFileSync } from 'node:fs'
import { AVAILABLE_MODES } from './available-modes.ts'
import { runProgram } from './program.ts'

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  version: packageVersion(),
  modes: AVAILABLE_MODES,
  loadDaemon: () => import('./daemon.ts'),
})

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}
