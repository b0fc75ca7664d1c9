import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { execa } from 'execa'
import { extract, type Header } from 'tar-stream'
import { ownProcessor, PROCESSORS, type Processor } from '../../packaging/node-program.ts'
import type { Entry } from './file-tree.ts'

const TIMEOUT_MS = 10 * 60_000

/** One Debian package, as far as it is wanted. */
export interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly architecture: string
  /** Its control file. */
  readonly control: string
  readonly sha256: string
  /** By the path in a system whose /bin, /sbin and /lib are links into /usr. */
  readonly files: ReadonlyMap<string, Entry>
}

/**
 * Downloads packages, and all that they depend on, in the versions of this machine's package sources; apt checks their
 * signatures. What `folder` has already is not fetched again. Returns the paths of the files. Package lists of this
 * machine's processor are the machine's; those of another one are fetched into `folder`, and the machine is left as it is.
 */
export async function downloadPackages(
  names: readonly string[],
  folder: string,
  processor: Processor,
): Promise<readonly string[]> {
  mkdirSync(join(folder, 'partial'), { recursive: true })
  const scratch = mkdtempSync(join(tmpdir(), 'np-apt-'))
  try {
    // No package is installed for apt, so it takes everything.
    const status = join(scratch, 'status')
    writeFileSync(status, '')
    mkdirSync(join(scratch, 'partial'))
    const settings = [
      `Dir::State::status=${status}`,
      'Debug::NoLocking=1',
      'APT::Sandbox::User=',
      ...(processor === ownProcessor() ? [] : foreignSettings(processor, folder)),
    ].flatMap((setting) => ['-o', setting])
    if (processor !== ownProcessor()) await run('apt-get', ['--quiet=2', ...settings, 'update'])
    const into = (archives: string) => ['-o', `Dir::Cache::archives=${archives}`]
    const install = ['--yes', '--quiet=2', '--no-install-recommends', 'install', ...names]
    // It lists what it would fetch: everything, if the folder has nothing.
    const listed = await run('apt-get', ['--print-uris', ...into(scratch), ...settings, ...install])
    await run('apt-get', ['--download-only', ...into(folder), ...settings, ...install])
    return [...listed.matchAll(/^'[^']+' (\S+\.deb) /gm)].map(([, file = '']) => join(folder, file))
  } catch (cause) {
    throw new Error(
      `apt-get cannot download ${names.join(' ')}: ${String(cause)}
The machine must be a Debian 12 or newer with package lists (apt-get update), or name a folder with --packages`,
      { cause },
    )
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

function foreignSettings(processor: Processor, folder: string): readonly string[] {
  const name = PROCESSORS[processor]
  const lists = join(folder, `lists-${name}`)
  mkdirSync(join(lists, 'partial'), { recursive: true })
  return [
    `APT::Architecture=${name}`,
    `APT::Architectures::=${name}`,
    `Dir::State::lists=${lists}`,
    'Dir::Cache::pkgcache=',
    'Dir::Cache::srcpkgcache=',
  ]
}

/** Where a checkout keeps the packages that it downloaded. */
export function packageFolder(root: string): string {
  return join(root, 'node_modules/.cache/image-packages')
}

/** The packages of a folder, for a build without apt. */
export function packagesIn(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.deb'))
  if (files.length === 0) throw new Error(`--packages: no file *.deb in ${JSON.stringify(folder)}`)
  return files.sort().map((name) => join(folder, name))
}

/** Reads the files whose paths are wanted. */
export async function readPackage(
  path: string,
  isWanted: (path: string) => boolean,
): Promise<DebianPackage> {
  const control = await run('dpkg-deb', ['--field', path])
  const field = (name: string): string => {
    const [, value] = new RegExp(`^${name}: (.+)$`, 'm').exec(control) ?? []
    if (value === undefined) throw new Error(`${basename(path)}: its control file has no ${name}`)
    return value
  }
  return {
    name: field('Package'),
    version: field('Version'),
    architecture: field('Architecture'),
    control: `${control}\n`,
    sha256: createHash('sha256')
      .update(await readFile(path))
      .digest('hex'),
    files: await readFiles(path, isWanted),
  }
}

async function readFiles(path: string, isWanted: (path: string) => boolean) {
  const files = new Map<string, Entry>()
  const child = spawn('dpkg-deb', ['--fsys-tarfile', path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const archive = extract()
  child.stdout.pipe(archive)
  for await (const one of archive) {
    const { name, type } = one.header
    const at = mergedPath(name)
    const chunks: Buffer[] = []
    for await (const chunk of one) chunks.push(chunk as Buffer)
    if (type !== 'directory' && isWanted(at)) files.set(at, entryOf(one.header, chunks))
  }
  return files
}

function entryOf({ type, linkname, mode }: Header, chunks: readonly Buffer[]): Entry {
  if (type === 'symlink') return { kind: 'link', target: linkname ?? '' }
  if (type === 'link') return { kind: 'link', target: `/${mergedPath(linkname ?? '')}` }
  // Programs that run with the rights of their owner keep none here.
  return { kind: 'file', content: Buffer.concat(chunks), mode: mode & 0o755 }
}

/** The path of a package's file where /bin, /sbin and /lib are links into /usr, without a slash at the beginning. */
export function mergedPath(path: string): string {
  return path.replace(/^\.?\/+/, '').replace(/^(?=(?:bin|sbin|lib|lib64)(?:\/|$))/, 'usr/')
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execa(command, args, { timeout: TIMEOUT_MS, stdin: 'ignore' })
  return stdout
}
