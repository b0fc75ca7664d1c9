import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cgroupOf, removeCgroups } from '../../support/apart/scratch.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import type { Kubectl } from './kubectl.ts'
import { openNetwork } from './network.ts'
import { ClusterNode } from './node.ts'
import { NODE_NAMES } from './plan.ts'
import type { ClusterFiles } from './surroundings.ts'

/** A control plane and nodes, each with kubelet and containerd, as namespaces of this machine. */
export class Cluster implements AsyncDisposable {
  readonly #files: ClusterFiles
  readonly #plane: ControlPlane
  readonly #nodes: ClusterNode[] = []
  /** What ends with it, the last first. */
  readonly #parts = new AsyncDisposableStack()

  private constructor(files: ClusterFiles, plane: ControlPlane) {
    this.#files = files
    this.#plane = plane
  }

  /** Resolves once all nodes are Ready. Runs in namespaces of the tests' own: it uses fixed names and addresses. */
  static async start(
    files: ClusterFiles,
    nodes: number,
    startPlane: (folder: string) => Promise<ControlPlane> = startControlPlane,
  ): Promise<Cluster> {
    await using starting = new AsyncDisposableStack()
    const folder = folderIn(files)
    mkdirSync(folder)
    starting.defer(() => rmSync(folder, { recursive: true }))
    starting.defer(() => removeCgroups(cgroupOf(files.scratch)))
    starting.use(await openNetwork())
    const plane = starting.use(await startPlane(join(folder, 'control-plane')))
    const cluster = new Cluster(files, plane)
    starting.defer(async () => {
      await Promise.all(cluster.#nodes.map((node) => node.powerOff()))
    })
    await Promise.all(Array.from({ length: nodes }, () => cluster.addNode()))
    cluster.#parts.use(starting.move())
    return cluster
  }

  get plane(): ControlPlane {
    return this.#plane
  }

  get kubectl(): Kubectl {
    return this.#plane.kubectl
  }

  /** In the order in which they were added. */
  get nodes(): readonly ClusterNode[] {
    return this.#nodes
  }

  /** Resolves once it is Ready. */
  async addNode(): Promise<ClusterNode> {
    const name = NODE_NAMES[this.#nodes.length]
    if (name === undefined)
      throw new Error(`there are ${NODE_NAMES.length} nodes: add to NODE_NAMES`)
    const { scratch, programs, images } = this.#files
    const cgroup = `${cgroupOf(scratch)}/${name}`
    const files = { name, folder: join(folderIn(this.#files), name), cgroup, programs, images }
    const node = new ClusterNode(files, this.#plane)
    this.#nodes.push(node)
    await node.boot()
    return node
  }

  /** What an operator would look at after a failure. */
  async report(): Promise<string> {
    const commands = [
      ['get', 'nodes,pods', '-A', '-o', 'wide'],
      ['get', 'events', '-A', '--sort-by=.lastTimestamp'],
      [
        '-n',
        'kube-system',
        'logs',
        '--tail=30',
        '--prefix',
        '-l',
        'app.kubernetes.io/name=node-proxy',
      ],
    ]
    const said = await Promise.all(commands.map((one) => this.kubectl.run(one).catch(String)))
    return [
      ...said.map((text) => text.slice(-6_000)),
      ...this.#nodes.map((node) => node.logs()),
    ].join('\n\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

function folderIn({ scratch }: ClusterFiles): string {
  return join(scratch, 'cluster')
}
