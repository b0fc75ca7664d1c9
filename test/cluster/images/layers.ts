import { globSync, lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { execa } from 'execa'
import { root } from '../../support/on-demand/root.ts'

const TIMEOUT_MS = 5 * 60_000
/** What no container reads. */
const UNREAD = /^\/usr\/share\/(?:doc|info|lintian|locale|man)\/|\/gconv\//
/** Links and tables that packages make when they are installed. */
const INSTALLED = [
  '/{bin,lib,lib64,sbin}',
  '/{etc/alternatives,usr/sbin}/{ip,ip6}tables{,-save,-restore}',
  '/etc/{group,ld.so.cache,nsswitch.conf,passwd,protocols,services}',
]

/** A tar of what some of this machine's Debian packages consist of, with all that they depend on. */
export async function machineLayer(file: string, packages: readonly string[]): Promise<void> {
  const flags = ['depends', '--recurse', '--installed', '--important']
  const { stdout: known } = await run('apt-cache', [...flags, ...packages])
  const all = known.split('\n').filter((line) => /^[a-z0-9][a-z0-9.+-]*(?::\w+)?$/.test(line))
  // It fails where one of several packages that could be depended on is not installed.
  const { stdout: listed } = await run('dpkg-query', ['--listfiles', ...all], { reject: false })
  const paths = listed
    .split('\n')
    .map((path) => path.replace(/^\/(bin|lib|lib64|sbin)\//, '/usr/$1/'))
    .filter((path) => /^\/(?:etc|usr)\//.test(path) && !UNREAD.test(path))
    .concat(globSync(INSTALLED))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
  const input = [...new Set(paths)].map((path) => path.slice(1)).join('\n')
  await run('tar', ['-C', '/', '-cf', file, '--files-from=-'], { input })
}

/** A tar with the project's own Node as /usr/local/bin/node. */
export async function nodeLayer(file: string): Promise<void> {
  const folder = `node_modules/node-linux-${process.arch}/bin`
  const place = `--transform=s,^${folder},usr/local/bin,`
  await run('tar', ['-C', root, place, '-cf', file, `${folder}/node`])
}

/** A tar with a program in /usr/local/bin. */
export async function programLayer(file: string, program: string): Promise<void> {
  const place = '--transform=s,^,usr/local/bin/,'
  await run('tar', ['-C', dirname(program), place, '-cf', file, basename(program)])
}

async function run(
  command: string,
  args: readonly string[],
  { input = '', reject = true }: { readonly input?: string; readonly reject?: boolean } = {},
) {
  return await execa(command, [...args], { input, reject, timeout: TIMEOUT_MS })
}
