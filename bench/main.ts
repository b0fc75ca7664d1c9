import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runBenchmark } from './benchmark.ts'
import { removeNamespaces } from './lab/namespace.ts'
import { parseOptions, USAGE } from './options.ts'

try {
  const options = parseOptions(process.argv.slice(2))
  if (options === 'help') process.stdout.write(USAGE)
  else await guarded((folder) => runBenchmark(options, folder))
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

/** Whatever happens, no namespace and no file of this run stays behind. */
async function guarded(act: (folder: string) => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root, for network namespaces')
  removeNamespaces()
  const folder = mkdtempSync(join(tmpdir(), 'npbench-'))
  process.once('exit', () => {
    removeNamespaces(process.pid)
    rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  await act(folder)
}
