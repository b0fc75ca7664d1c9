import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'

const SUITE = 'bookworm'
const SOURCES = [
  `deb-src http://deb.debian.org/debian ${SUITE} main`,
  `deb-src http://deb.debian.org/debian-security ${SUITE}-security main`,
]

/**
 * Fetches the source package with package lists of its own, so that those of the machine stay as
 * they are, and unpacks it as the Go workspace `scratch`/go; returns the folder of the source.
 */
export async function fetchSource(scratch: string, cancelSignal: AbortSignal): Promise<string> {
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
  const source = join(scratch, 'go/src/k8s.io/kubernetes')
  mkdirSync(source, { recursive: true })
  await execa('tar', ['-xzf', archive, '-C', source, '--strip-components=1'], run)
  return source
}
