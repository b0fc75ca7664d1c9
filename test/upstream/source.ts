import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'

const SUITE = 'bookworm'
const SOURCES = [
  `deb-src http://deb.debian.org/debian ${SUITE} main`,
  `deb-src http://deb.debian.org/debian-security ${SUITE}-security main`,
]

export interface Source {
  /** Its folder in the Go workspace. */
  readonly folder: string
  /** `1.20.2` */
  readonly version: string
}

/**
 * Fetches the source package with package lists of its own, so that those of the machine stay as
 * they are, and unpacks it as the Go workspace `scratch`/go.
 */
export async function fetchSource(scratch: string, cancelSignal: AbortSignal): Promise<Source> {
  const lists = join(scratch, 'lists')
  mkdirSync(join(lists, 'partial'), { recursive: true })
  const list = join(scratch, 'sources.list')
  writeFileSync(list, `${SOURCES.join('\n')}\n`)
  const options = [
    '-o',
    `Dir::Etc::SourceList=${list}`,
    '-o',
    'Dir::Etc::SourceParts=/dev/null',
    '-o',
    `Dir::State::Lists=${lists}`,
    '-o',
    'APT::Sandbox::User=root',
  ]
  const run = { cwd: scratch, cancelSignal, stdin: 'ignore' } as const
  await execa('apt-get', [...options, 'update'], run)
  await execa('apt-get', [...options, 'source', '--download-only', 'kubernetes'], run)
  const archive = readdirSync(scratch).find((name) => name.endsWith('.orig.tar.gz'))
  if (archive === undefined) throw new Error(`Debian’s kubernetes came without its source`)
  const [, version] = /_(?:.*really)?(\d+\.\d+\.\d+)/.exec(archive) ?? []
  if (version === undefined) throw new Error(`${archive} has no version in its name`)
  const folder = join(scratch, 'go/src/k8s.io/kubernetes')
  mkdirSync(folder, { recursive: true })
  await execa('tar', ['-xzf', archive, '-C', folder, '--strip-components=1'], run)
  return { folder, version }
}
