import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { type FileTree, NONROOT } from './file-tree.ts'

const TIMEOUT_MS = 5 * 60_000

/** Below the root of an image. */
export const CACHE = 'opt/node-proxy/cache'
export const NODE = 'usr/local/bin/node'

/** Paths of modules below the root of an image. */
export interface Compiled {
  /** Run with --version: what that needs is compiled whole. */
  readonly programs: readonly string[]
  /** Threads and programs that start when they are loaded: compiled, not run. */
  readonly starting: readonly string[]
  /** Run: they only define what others use. */
  readonly others: readonly string[]
}

/**
 * Compiles modules in the root file system that an image will have, and adds what Node keeps of it, so that a container
 * on a read-only root file system starts without compiling. That this works shows that the image has every library of
 * Node.
 *
 * A compiled module is the same bytes each time only if V8 hashes names with the same seed. Node takes over what it
 * finds only if it was compiled with the same flags; so the seed is reset once it is in use.
 */
export async function addCompileCache(
  layers: readonly FileTree[],
  into: FileTree,
  compiled: Compiled,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'np-image-'))
  try {
    for (const layer of [...layers, into]) await layer.writeTo(root)
    const apart = ['--mount', '--net', '--pid', '--fork', '--kill-child', `--root=${root}`]
    const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
    const node = [`/${NODE}`, '--hash-seed=1', '--random-seed=1', '--no-flush-bytecode']
    const input = [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '--eval',
      COMPILE,
    ]
    await execa('unshare', [...asRoot, ...apart, ...node, ...input, JSON.stringify(compiled)], {
      timeout: TIMEOUT_MS,
      stdin: 'ignore',
      env: {},
      extendEnv: false,
    })
    const [made = ''] = globSync('*', { cwd: join(root, CACHE) })
    if (!made.endsWith('-0')) throw new Error('Node wrote no compiled modules')
    await into.addFolder(`${CACHE}/${made}`, join(root, CACHE, made))
    // Node looks in a folder of the user that it runs as.
    const nonroot = made.replace(/0$/, String(NONROOT))
    into.add(`${CACHE}/${nonroot}`, { kind: 'link', target: made })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** A module that fails before those after it run; they are compiled by then. */
const COMPILE = `
import { enableCompileCache, flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

const { programs, starting, others } = JSON.parse(process.argv[1])
for (const flag of ['--hash-seed=0', '--random-seed=0', '--flush-bytecode']) setFlagsFromString(flag)
const { directory, message } = enableCompileCache('/${CACHE}')
if (directory === undefined) throw new Error(message)
process.stdout.write = () => true
for (const path of programs) {
  process.argv = [process.execPath, '/' + path, '--version']
  await import('/' + path)
  if (process.exitCode) throw new Error(path + ' ended with ' + process.exitCode)
}
for (const path of others) await import('/' + path)
const lines = ['data:text/javascript,throw%200', ...starting.map((path) => 'file:///' + path)]
const source = lines.map((line) => 'import ' + JSON.stringify(line)).join('\\n')
await import('data:text/javascript,' + encodeURIComponent(source)).catch((reason) => {
  if (reason !== 0) throw reason
})
flushCompileCache()
process.exit()
`
