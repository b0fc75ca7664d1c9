import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { CACHE, COMPILE_FLAGS } from '../../packaging/bundle/compile.ts'
import { type FileTree, NONROOT } from './file-tree.ts'

const TIMEOUT_MS = 15 * 60_000

/** Below the root of an image: the folder of its programs, and Node. */
export const AT = 'opt/node-proxy'
export const NODE = 'usr/local/bin/node'

/** Only while Node compiles. */
const EMULATOR = 'emulator'

/**
 * Runs the program that compiles a bundle in the root file system that an image will have, and adds what Node keeps of
 * it, so that a container on a read-only root file system starts without compiling. That this works shows that the image
 * has every library of Node. `emulator` runs Node where this machine's processor does not.
 */
export async function addCompileCache(
  layers: readonly FileTree[],
  into: FileTree,
  program: string,
  emulator: Buffer | undefined,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'np-image-'))
  try {
    for (const layer of [...layers, into]) await layer.writeTo(root)
    if (emulator !== undefined) writeFileSync(join(root, EMULATOR), emulator, { mode: 0o755 })
    const apart = ['--mount', '--net', '--pid', '--fork', '--kill-child']
    const place = [`--root=${root}`, `--wd=/${AT}`]
    const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
    const node = [
      ...(emulator === undefined ? [] : [`/${EMULATOR}`]),
      `/${NODE}`,
      ...COMPILE_FLAGS,
      '--input-type=module',
      '--eval',
    ]
    await execa('unshare', [...asRoot, ...apart, ...place, ...node, program], {
      timeout: TIMEOUT_MS,
      stdin: 'ignore',
      env: {},
      extendEnv: false,
    })
    const cache = `${AT}/${CACHE}`
    const [made = ''] = globSync('*', { cwd: join(root, cache) })
    if (!made.endsWith('-0')) throw new Error('Node wrote no compiled modules')
    await into.addFolder(`${cache}/${made}`, join(root, cache, made))
    // Node looks in a folder of the user that it runs as.
    const nonroot = made.replace(/0$/, String(NONROOT))
    into.add(`${cache}/${nonroot}`, { kind: 'link', target: made })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}
