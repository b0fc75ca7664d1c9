import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import type { Source } from './source.ts'

const PACKAGE = 'k8s.io/kubernetes'
const OPENAPI = 'pkg/generated/openapi'
/** What the openapi of kube-apiserver has no types of. */
const NOT_SERVED = /_examples|sample-apiserver|custom_metrics|external_metrics/

export interface Build {
  /** The Go workspace is its folder `go`; Go's cache comes beside it. */
  readonly scratch: string
  readonly source: Source
  /** Where the programs go. */
  readonly into: string
  readonly signal: AbortSignal
}

/** Builds programs of the source; of what its makefile generates only the openapi is needed. */
export async function buildPrograms(names: readonly string[], build: Build): Promise<void> {
  mkdirSync(build.into, { recursive: true })
  for (const name of names) {
    if (name === 'kube-apiserver') await generateOpenapi(build)
    await goBuild(build, `./cmd/${name}`, join(build.into, name))
  }
}

async function generateOpenapi(build: Build): Promise<void> {
  const generator = join(build.scratch, 'openapi-gen')
  await goBuild(build, './vendor/k8s.io/kube-openapi/cmd/openapi-gen', generator)
  await execa(
    generator,
    [
      '--input-dirs',
      (await packagesWithOpenapi(build)).join(),
      '--logtostderr',
      '--output-package',
      `${PACKAGE}/${OPENAPI}`,
      '--output-file-base',
      'zz_generated.openapi',
      '--output-base',
      join(build.scratch, 'go/src'),
      '--go-header-file',
      'hack/boilerplate/boilerplate.generatego.txt',
      '--report-filename',
      join(build.scratch, 'violations'),
    ],
    settings(build),
  )
}

async function packagesWithOpenapi(build: Build): Promise<string[]> {
  const mark = '^// +k8s:openapi-gen=true'
  const { stdout } = await execa(
    'grep',
    ['-rl', '--include=*.go', mark, 'pkg', 'staging/src/k8s.io'],
    settings(build),
  )
  const folders = stdout
    .split('\n')
    .filter((file) => !NOT_SERVED.test(file))
    .map((file) => file.slice(0, file.lastIndexOf('/')).replace('staging/src/', 'vendor/'))
  return [...new Set(folders)].map((folder) => `${PACKAGE}/${folder}`)
}

async function goBuild(build: Build, what: string, output: string): Promise<void> {
  const flags = `-ldflags=-s -w ${versionFlags(build.source)}`
  await execa('go', ['build', flags, '-o', output, what], settings(build))
}

/** The source says of itself that it is no release; clients such as helm ask servers for their version. */
function versionFlags({ version }: Source): string {
  const [major, minor] = version.split('.')
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor }
  return ['component-base/version', 'client-go/pkg/version']
    .flatMap((name) =>
      Object.entries(values).map(
        ([key, value]) => `-X ${PACKAGE}/vendor/k8s.io/${name}.${key}=${value}`,
      ),
    )
    .join(' ')
}

/** A workspace without modules: the source has all that it needs. */
function settings({ scratch, source, signal }: Build) {
  const env = {
    GO111MODULE: 'off',
    GOFLAGS: '',
    CGO_ENABLED: '0',
    GOPATH: join(scratch, 'go'),
    GOCACHE: join(scratch, 'cache'),
  }
  return { cwd: source.folder, env, cancelSignal: signal, stdin: 'ignore' } as const
}
