import type { ReadStream, WriteStream } from 'node:tty'
import { packageVersion } from '../lib/process.ts'
import { runOrchctl } from './program.ts'
import type { Terminal } from './usage/host.ts'

const USUAL = { width: 80, height: 24 } as const

/** Milliseconds from a signal to the end of the process. */
const GRACE_MS = 500

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted.abort()
    process.exitCode = signal === 'SIGINT' ? 130 : 143
    // The abort does not end everything, such as reading standard input; that ends with the process.
    setTimeout(() => process.exit(), GRACE_MS).unref()
  })
}
// `orchctl get pods | head` closes the output early.
process.stdout.on('error', () => process.exit(0))
process.stderr.on('error', () => process.exit(0))

const code = await runOrchctl(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  version: packageVersion(),
  signal: interrupted.signal,
  ...(process.stdin.isTTY && { terminal: terminalOf(process.stdin, process.stdout) }),
})
process.exitCode ??= code

/** The terminal of a process. Its size is that of standard output, or a default if that is not a terminal. */
function terminalOf(input: ReadStream, output: WriteStream): Terminal {
  return {
    setRaw: (isRaw) => void input.setRawMode(isRaw),
    size: () => (output.isTTY ? { width: output.columns, height: output.rows } : USUAL),
    onResize: (changed) => {
      output.on('resize', changed)
      return () => output.off('resize', changed)
    },
  }
}
