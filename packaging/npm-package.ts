import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { applicationOf } from './bundle/application.ts'
import type { Checkout } from './checkout.ts'

const NAME = 'orchctl'
const LAUNCHER = `bin/${NAME}`
const TEMPLATE = join(import.meta.dirname, 'npm', NAME)

interface Manifest {
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** Writes the npm package of orchctl, `orchctl-VERSION.tgz`: the bundle. @returns its path */
export async function buildNpmPackage(checkout: Checkout, output: string): Promise<string> {
  const { root, version } = checkout
  const { files } = await applicationOf(checkout, [NAME])
  const folder = mkdtempSync(join(tmpdir(), 'np-npm-'))
  try {
    for (const [path, { content }] of files) {
      if (path.startsWith('node_modules/')) throw new Error(`npm leaves ${path} out of packages`)
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    mkdirSync(dirname(join(folder, LAUNCHER)))
    cpSync(TEMPLATE, join(folder, LAUNCHER))
    chmodSync(join(folder, LAUNCHER), 0o755)
    cpSync(join(root, 'docs/operate/orchctl.md'), join(folder, 'README.md'))
    writeFileSync(join(folder, 'package.json'), manifestText(checkout))
    mkdirSync(output, { recursive: true })
    const words = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', output]
    execFileSync('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    return join(output, `${NAME}-${version}.tgz`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function manifestText({ root, version }: Checkout): string {
  const ofCheckout = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const manifest = {
    name: NAME,
    version,
    description: 'The command line of an API server that speaks the Kubernetes API.',
    license: 'Apache-2.0',
    type: 'module',
    bin: { [NAME]: LAUNCHER },
    engines: { node: '>=20' },
    os: ['!win32'],
    optionalDependencies: ofCheckout.optionalDependencies,
  }
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}
