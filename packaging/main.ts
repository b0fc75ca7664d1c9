import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openCheckout } from './checkout.ts'
import { buildDebianPackage, COMPRESSIONS } from './debian-package.ts'
import { buildNpmPackage } from './npm-package.ts'
import { PROGRAMS } from './programs.ts'

const NPM = 'npm'
const NAMES: readonly string[] = [...PROGRAMS.map(({ name }) => name), NPM]
const USAGE = `npm run packages [-- OPTION… NAME…]

Writes packages: ${NAMES.join(', ')} (the npm package of orchctl); without NAME all of them.

  --output DIR        the folder for them (default: dist)
  --version VERSION   their version (default: that of package.json)
  --checkout DIR      a checkout in which npm ci ran (default: this one)
  --compression NAME  ${COMPRESSIONS.join(', ')} (default: xz)

SOURCE_DATE_EPOCH is the time of their files (default: that of the last commit). DEBFULLNAME and
DEBEMAIL name who answers for the Debian packages.
`

/** `npm run packages`: exits with 0, or with 2 and the reason. */
try {
  await main()
} catch (error) {
  process.stderr.write(`packages: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      output: { type: 'string', default: 'dist' },
      version: { type: 'string' },
      checkout: { type: 'string', default: join(import.meta.dirname, '..') },
      compression: { type: 'string', default: 'xz' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return void process.stdout.write(USAGE)
  const compression = COMPRESSIONS.find((one) => one === values.compression)
  if (compression === undefined) throw unknown('--compression', values.compression, COMPRESSIONS)
  const strange = positionals.find((name) => !NAMES.includes(name))
  if (strange !== undefined) throw unknown('NAME', strange, NAMES)
  const checkout = openCheckout(values.checkout, values.version)
  const { output } = values
  const maintainer = maintainerOf(process.env)
  const wanted = (name: string) => positionals.length === 0 || positionals.includes(name)
  for (const program of PROGRAMS.filter(({ name }) => wanted(name))) {
    report(await buildDebianPackage(checkout, program, { compression, output, maintainer }))
  }
  if (wanted(NPM)) report(await buildNpmPackage(checkout, output))
}

function report(file: string): void {
  process.stdout.write(`${file}\n`)
}

/** The variables of Debian's own tools. The address of the default is one that never exists (RFC 2606). */
function maintainerOf({ DEBFULLNAME, DEBEMAIL }: NodeJS.ProcessEnv): string {
  return `${DEBFULLNAME ?? 'The node-proxy authors'} <${DEBEMAIL ?? 'node-proxy@invalid'}>`
}

function unknown(field: string, value: string, known: readonly string[]): Error {
  return new Error(`${field}: "${value}" is unknown: write one of ${known.join(', ')}`)
}
