import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { root } from '../../support/on-demand/root.ts'
import { step } from '../../support/on-demand/step.ts'

const SUITE = 'bookworm'
const KEEP_MS = 7 * 24 * 60 * 60 * 1_000
const TIMEOUT_MS = 30 * 60 * 1_000
const CACHE = join(root, 'node_modules/.cache/docker-base')
/** What no container reads. */
const BALLAST = [
  'var/cache/apt',
  'var/lib/apt/lists',
  'var/log',
  'var/cache/debconf',
  'usr/share/doc',
  'usr/share/man',
  'usr/share/info',
  'usr/share/locale',
]

/** A Debian with some packages, as an image of its own. */
export interface DebianBase {
  readonly packages: readonly string[]
  /** Where the image is, or is to be: it names the packages. */
  readonly image: string
  /** The file with its content; it may not exist. */
  readonly archive: string
}

/** The base that a Dockerfile can be built on without fetching anything. */
export function debianBase(dockerfile: string): DebianBase {
  return debianWith(packagesOf(readFileSync(join(root, dockerfile), 'utf8')))
}

/** A Debian with these packages. */
export function debianWith(packages: readonly string[]): DebianBase {
  const id = createHash('sha256')
    .update([SUITE, ...packages].join(' '))
    .digest('hex')
    .slice(0, 12)
  return {
    packages,
    image: `node-proxy-debian:${id}`,
    archive: join(CACHE, `${SUITE}-${process.arch}-${id}.tar`),
  }
}

/** The packages that a Dockerfile installs where its base image does not have them. */
export function packagesOf(dockerfile: string): readonly string[] {
  const [, list] = /^ARG PACKAGES="([^"]+)"$/m.exec(dockerfile) ?? []
  if (list === undefined) throw new Error('the Dockerfile has no line ARG PACKAGES="…"')
  return list.split(' ')
}

/** Whether the archive exists and its Debian is of this week. */
export function isFresh({ archive }: DebianBase): boolean {
  const made = statSync(archive, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return Date.now() - made < KEEP_MS
}

/** Makes the archive with debootstrap, which needs root and a Debian mirror. */
export async function makeArchive(
  { archive, packages }: DebianBase,
  signal?: AbortSignal,
): Promise<void> {
  const run = runner(signal)
  const scratch = mkdtempSync(join(tmpdir(), 'np-debian-'))
  const tree = join(scratch, 'root')
  const made = join(scratch, 'archive')
  try {
    await step(
      'docker',
      `making a Debian ${SUITE} with ${packages.join(' ')} (a minute or two)`,
      async () => {
        await run('unshare', debootstrap(tree, packages))
        for (const path of BALLAST)
          await run('find', [join(tree, path), '-mindepth', '1', '-delete'])
        await run('tar', ['-C', tree, '--one-file-system', '-cf', made, '.'])
      },
    )
    mkdirSync(CACHE, { recursive: true })
    copyFileSync(made, `${archive}.${process.pid}`)
    renameSync(`${archive}.${process.pid}`, archive)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** In namespaces of its own: its mounts and whatever it runs end with it. */
function debootstrap(tree: string, packages: readonly string[]): readonly string[] {
  const apart = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const what = ['--variant=minbase', `--include=${packages.join(',')}`, SUITE, tree]
  return [...apart, 'debootstrap', ...what]
}

function runner(signal: AbortSignal | undefined) {
  const limits = {
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL' as const,
    ...(signal && { cancelSignal: signal }),
  }
  return async (command: string, args: readonly string[]): Promise<void> => {
    await execa(command, args, { ...limits, stdin: 'ignore', all: true })
  }
}
