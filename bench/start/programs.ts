import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { applicationOf } from '../../packaging/bundle/application.ts'
import { launched } from '../../packaging/bundle/bundle.ts'
import { CACHE, COMPILE_FLAGS } from '../../packaging/bundle/compile.ts'
import { nodeProgram, ownProcessor } from '../../packaging/node-program.ts'
import type { Launched } from '../daemon/daemon.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAME = 'node-proxy'

/** The daemon as the image runs it, and as a checkout runs it. */
export interface Programs {
  readonly image: Launched
  readonly checkout: Launched
}

/**
 * Puts into a folder what the image runs: the bundle, what Node compiled of it, and Node without symbols. The modules of
 * the checkout are run by the same file of Node, because its resident memory depends on how its pages came into memory.
 */
export async function writePrograms(folder: string): Promise<Programs> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: string
  }
  const { files, compile } = await applicationOf({ root: ROOT, version }, [NAME])
  const put = (path: string, content: string | Buffer, mode = 0o755): string => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content, { mode })
    return join(folder, path)
  }
  for (const [path, { content, mode }] of files) put(path, content, mode)
  const node = put('bin/node', nodeProgram(ROOT, ownProcessor()).stripped)
  await execa(node, [...COMPILE_FLAGS, '--input-type=module', '--eval', compile], { cwd: folder })
  const { main, flags } = launched(ROOT, NAME)
  const launch = (launcher: string, module: string, cache: string): Launched => ({
    launcher: put(launcher, `#!${[node, ...flags].join(' ')}\nimport '${module}'\n`),
    environment: {
      NODE_COMPILE_CACHE: join(folder, cache),
      NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
    },
  })
  return {
    image: launch('bin/image', `../lib/${NAME}.js`, CACHE),
    checkout: launch('bin/checkout', join(ROOT, main), 'cache-of-checkout'),
  }
}
