import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { root } from '../../support/on-demand/root.ts'
import { step } from '../../support/on-demand/step.ts'
import { writeArchive } from './archive.ts'
import { machineLayer, nodeLayer, programLayer } from './layers.ts'

/** What servers, clients and the sandboxes of Pods run in: Node, and commands of Debian. */
export const TEST_IMAGE = 'node-proxy-cluster-test:test'

/** kube-proxy, as the DaemonSet of kubeadm names it. */
const KUBE_PROXY_IMAGE = 'kube-proxy:v1.20.2'
/** The file of kube-proxy, which only the tests that need it import. */
export const KUBE_PROXY_ARCHIVE = 'kube-proxy.tar'

/** The files in the folder of images, as `ctr images import` reads them. */
export const ARCHIVES = { test: 'test.tar', daemon: 'node-proxy.tar' } as const

const PACKAGES = ['base-files', 'coreutils', 'dash', 'libatomic1', 'libstdc++6']
/** What kube-proxy in iptables mode runs. */
const KUBE_PROXY_PACKAGES = [...PACKAGES, 'conntrack', 'ipset', 'iptables']
const PATH = 'PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin'
const TIMEOUT_MS = 10 * 60_000

/** Writes the archives of all images that the cluster needs, without an engine or a registry. */
export async function makeImages(
  folder: string,
  programs: string,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await makeDaemonImage(folder, signal)
  await step('cluster', 'making images of files of this machine', async () => {
    await makeTestImage(join(folder, ARCHIVES.test), {
      name: TEST_IMAGE,
      packages: PACKAGES,
      programs: nodeLayer,
      config: { Entrypoint: ['sleep', 'infinity'] },
    })
    await makeTestImage(join(folder, KUBE_PROXY_ARCHIVE), {
      name: KUBE_PROXY_IMAGE,
      packages: KUBE_PROXY_PACKAGES,
      programs: (layer) => programLayer(layer, join(programs, 'kube-proxy')),
    })
  })
}

interface TestImage {
  readonly name: string
  /** Of Debian, as this machine has them. */
  readonly packages: readonly string[]
  /** Writes the layer above those. */
  readonly programs: (file: string) => Promise<void>
  readonly config?: Readonly<Record<string, unknown>>
}

async function makeTestImage(
  file: string,
  { name, packages, programs, config = {} }: TestImage,
): Promise<void> {
  const layers = [`${file}.debian`, `${file}.programs`] as const
  await machineLayer(layers[0], packages)
  await programs(layers[1])
  // containerd looks for the program of a Pod's sandbox only where the image says.
  await writeArchive(file, { name, layers, config: { ...config, Env: [PATH] } })
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
