import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { root } from './source-file.ts'

/** A copy of the launchers and scripts in a folder of its own, without npm packages. */
export interface ScratchCheckout extends AsyncDisposable {
  readonly path: string
  write(file: string, text: string): Promise<void>
  /** Writes a program that comes first in the PATH of `run`. */
  fake(name: string, script: string): Promise<void>
  /** Pretends that npm installed the packages: the Node of this very test run. */
  install(): Promise<void>
  run(command: string, args?: readonly string[], cwd?: string): ReturnType<typeof start>
}

const tools = [
  'sh',
  'cat',
  'date',
  'dirname',
  'find',
  'flock',
  'ln',
  'mkdir',
  'mktemp',
  'readlink',
].concat(['rm', 'touch', 'uname'])

export async function scratchCheckout(): Promise<ScratchCheckout> {
  const path = await mkdtemp(join(tmpdir(), 'np-checkout-'))
  await cp(join(root, 'bin'), join(path, 'bin'), { recursive: true })
  await cp(join(root, 'scripts'), join(path, 'scripts'), { recursive: true })
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(path, file)), { recursive: true })
    await writeFile(join(path, file), text)
  }
  const fake = async (name: string, script: string): Promise<void> => {
    // Never through a link: that would write the machine's own program.
    await rm(join(path, 'path', name), { force: true })
    await write(`path/${name}`, `#!/bin/sh\n${script}\n`)
    await chmod(join(path, 'path', name), 0o755)
  }
  await write('package-lock.json', '{}')
  await fake('id', 'echo 0')
  await fake('node', 'echo v20.0.0')
  for (const tool of tools) await linkTool(path, tool)
  return {
    path,
    write,
    fake,
    install: () => installFakePackages(path),
    run: (command, args = [], cwd = path) => start(path, command, { args, cwd }),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}

function start(
  path: string,
  command: string,
  { args, cwd }: { args: readonly string[]; cwd: string },
) {
  return execa(join(path, command), args, {
    cwd,
    reject: false,
    extendEnv: false,
    env: { PATH: join(path, 'path'), CHECKOUT: path, NODE: process.execPath },
  })
}

async function linkTool(path: string, tool: string): Promise<void> {
  const { stdout } = await execa('sh', ['-c', `command -v ${tool}`])
  await symlink(stdout, join(path, 'path', tool))
}

async function installFakePackages(path: string): Promise<void> {
  const own = join(path, `node_modules/node-linux-${process.arch}/bin`)
  await mkdir(own, { recursive: true })
  await symlink(process.execPath, join(own, 'node'))
  await mkdir(join(path, 'node_modules/.bin'))
  await symlink(process.execPath, join(path, 'node_modules/.bin/node'))
  await writeFile(join(path, 'node_modules/.package-lock.json'), '{}')
}
