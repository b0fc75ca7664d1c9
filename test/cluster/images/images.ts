import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { root } from '../../support/on-demand/root.ts'
import { step } from '../../support/on-demand/step.ts'
import { writeArchive } from './archive.ts'
import { machineLayer, nodeLayer } from './layers.ts'

/** What servers, clients and the sandboxes of Pods run in: Node, and commands of Debian. */
export const TEST_IMAGE = 'node-proxy-cluster-test:test'

/** The files in the folder of images, as `ctr images import` reads them. */
export const ARCHIVES = { test: 'test.tar', daemon: 'node-proxy.tar' } as const

const PACKAGES = ['base-files', 'coreutils', 'dash', 'libatomic1', 'libstdc++6']
const TIMEOUT_MS = 10 * 60_000

/** Writes the archives of all images that the cluster needs, without an engine or a registry. */
export async function makeImages(folder: string, signal: AbortSignal): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await makeDaemonImage(folder, signal)
  await step('cluster', 'making an image of files of this machine', () => makeTestImage(folder))
}

async function makeTestImage(folder: string): Promise<void> {
  const layers = ['debian', 'node'].map((name) => join(folder, `${name}.layer`)) as [string, string]
  await machineLayer(layers[0], PACKAGES)
  await nodeLayer(layers[1])
  await writeArchive(join(folder, ARCHIVES.test), {
    name: TEST_IMAGE,
    layers,
    // containerd looks for the program of a Pod's sandbox only where the image says.
    config: { Entrypoint: ['sleep', 'infinity'], Env: ['PATH=/usr/local/bin:/usr/bin:/usr/sbin'] },
  })
  for (const layer of layers) rmSync(layer)
}

/** The image of node-proxy and orch-dns, by the command that makes it for clusters. */
async function makeDaemonImage(folder: string, signal: AbortSignal): Promise<void> {
  const command = [join(root, 'docker/image/main.ts'), `--output=${folder}`, 'node-proxy']
  const options = { cwd: root, cancelSignal: signal, timeout: TIMEOUT_MS, stdin: 'ignore' } as const
  await step('cluster', 'making the image of node-proxy (half a minute)', () =>
    execa(process.execPath, ['--disable-warning=ExperimentalWarning', ...command], options),
  )
}
