import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../support/lab/command.ts'

/** What the command gives to a cluster. */
export interface ClusterFiles {
  /** A folder of this run. */
  readonly scratch: string
  /** The folder of Kubernetes' programs. */
  readonly programs: string
  /** The folder of the archives of images. */
  readonly images: string
}

const VARIABLES = {
  scratch: 'NP_CLUSTER_SCRATCH',
  programs: 'NP_UPSTREAM_PROGRAMS',
  images: 'NP_CLUSTER_IMAGES',
} as const

/** In new namespaces: a loopback, and a /run that nobody else has. */
export async function prepareNamespaces(): Promise<void> {
  await run(['ip', 'link', 'set', 'lo', 'up'])
  await run(['mount', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', '/run'])
}

/** The environment variables that name the files; all that programs write to a /tmp goes into the scratch folder. */
export function surroundingsOf({ scratch, programs, images }: ClusterFiles): NodeJS.ProcessEnv {
  const temporary = join(scratch, 'tmp')
  mkdirSync(temporary, { recursive: true })
  return {
    [VARIABLES.scratch]: scratch,
    [VARIABLES.programs]: programs,
    [VARIABLES.images]: images,
    TMPDIR: temporary,
  }
}

/** The files that the variables name. Throws where one is unset. */
export function clusterFiles(): ClusterFiles {
  const read = (name: string): string => {
    const value = process.env[name]
    if (value === undefined) throw new Error(`${name} is unset: npm run test:cluster sets it`)
    return value
  }
  return {
    scratch: read(VARIABLES.scratch),
    programs: read(VARIABLES.programs),
    images: read(VARIABLES.images),
  }
}
