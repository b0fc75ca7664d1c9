import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { findEngine } from './engine/reachable-engine.ts'
import type { Images } from './images/images.ts'

declare module 'vitest' {
  interface ProvidedContext {
    docker: DockerContext
  }
}

/** What the tests find, or why they are skipped. */
export type DockerContext =
  | { readonly skipped: string }
  | {
      readonly skipped?: undefined
      readonly uri: string
      readonly images: Images
      /** The folder with the archives of the images that clusters run. */
      readonly archives: string
      /** Part of the name of every container and network of this run. */
      readonly run: string
    }

const COMMAND = '`npm run test:docker` brings an engine of its own'

/** Builds the images once where an engine is reachable; removes every container of the run at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const reach = await findEngine()
  if ('unreachable' in reach) {
    if (process.env['NP_DOCKER_REQUIRED']) throw new Error(reach.unreachable)
    const skipped = `no Docker engine: ${reach.unreachable}; ${COMMAND}`
    project.provide('docker', { skipped })
    return async () => void process.stderr.write(`docker: all tests are skipped, ${skipped}\n`)
  }
  process.env['DOCKER_HOST'] = reach.uri
  const { getContainerRuntimeClient } = await import('testcontainers')
  const { buildImages } = await import('./images/images.ts')
  const { removeRun } = await import('./containers/remove-run.ts')
  const client = await getContainerRuntimeClient()
  const run = `np-test-${process.pid}`
  const archives = mkdtempSync(join(tmpdir(), 'np-archives-'))
  const images = await buildImages(client, archives)
  project.provide('docker', { uri: reach.uri, images, archives, run })
  return async () => {
    rmSync(archives, { recursive: true })
    await removeRun(client, run)
  }
}
