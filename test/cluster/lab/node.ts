import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { upstreamProgram } from '../../support/lab/upstream-program.ts'
import { ARCHIVES, TEST_IMAGE } from '../images/images.ts'
import type { ControlPlane } from './control-plane.ts'
import { bootMachine, type Machine } from './machine.ts'
import { ip } from './network.ts'
import { CLUSTER_DNS, LAN, type NodeAddresses, nodeAddresses } from './plan.ts'
import { eventually, type Program } from './programs.ts'

const CONTAINERD = '/run/containerd/containerd.sock'
const CNI = '/etc/cni/net.d/10-cluster.conflist'
const READY_MS = 240_000
const IMPORT_MS = 240_000

export interface NodeFiles {
  readonly name: string
  /** Where its disk and logs go. */
  readonly folder: string
  readonly cgroup: string
  readonly programs: string
  /** The folder of the archives of images. */
  readonly images: string
}

interface NodeObject {
  readonly spec: { readonly podCIDRs?: readonly string[] }
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly lastHeartbeatTime: string
    }[]
  }
}

/** A machine with containerd and a kubelet, which is a Node of the cluster. */
export class ClusterNode {
  readonly name: string
  readonly addresses: NodeAddresses
  readonly #files: NodeFiles
  readonly #plane: ControlPlane
  #machine: Machine | undefined
  #programs: readonly Program[] = []

  constructor(files: NodeFiles, plane: ControlPlane) {
    this.name = files.name
    this.addresses = nodeAddresses(files.name)
    this.#files = files
    this.#plane = plane
  }

  /** Resolves once the Node is Ready by what the kubelet reports since now. */
  async boot(): Promise<void> {
    const { name, folder, cgroup, programs, images } = this.#files
    const disk = join(folder, 'disk')
    await this.#writeFiles(join(disk, 'var/lib/kubelet'))
    const machine = await bootMachine({ name, disk, cgroup, shared: [programs, images] })
    this.#machine = machine
    const runtime = machine.start(join(folder, 'containerd.log'), [
      'containerd',
      '--config=/var/lib/kubelet/containerd.toml',
    ])
    this.#programs = [runtime]
    await this.#until('containerd answers', () => machine.run(`ctr -a ${CONTAINERD} version`))
    for (const archive of Object.values(ARCHIVES)) {
      await this.importImage(join(images, archive))
    }
    // The API has whole seconds.
    const began = Math.floor(Date.now() / 1_000) * 1_000
    const kubelet = machine.start(join(folder, 'kubelet.log'), this.#kubelet())
    this.#programs = [runtime, kubelet]
    await this.#until('it is registered', () => this.#object())
    await this.#plane.giveNetworks(name)
    const networks = await this.#until('it has networks of Pods', async () => {
      const { spec } = await this.#object()
      return spec.podCIDRs?.length === 2 ? spec.podCIDRs : undefined
    })
    await machine.run(`mkdir -p /etc/cni/net.d && cat >${CNI} <<'END'\n${cniOf(networks)}\nEND`)
    const { v4, v6 } = this.addresses
    for (const network of networks) {
      const isV6 = network.includes(':')
      await ip('', [`${isV6 ? '-6 ' : ''}route replace ${network} via ${isV6 ? v6 : v4}`])
    }
    await this.#until('it is Ready', async () => {
      const { status } = await this.#object()
      const ready = status.conditions?.find(({ type }) => type === 'Ready')
      return ready?.status === 'True' && Date.parse(ready.lastHeartbeatTime) >= began
    })
  }

  /** Runs a command line on the node as root; its standard output. */
  run(line: string): Promise<string> {
    return this.#on().run(line)
  }

  #on(): Machine {
    if (this.#machine === undefined) throw new Error(`${this.name} is off`)
    return this.#machine
  }

  /** `archive` is a file in the folder of images. */
  async importImage(archive: string): Promise<void> {
    await this.#on().run(`ctr -a ${CONTAINERD} -n k8s.io images import ${archive}`, IMPORT_MS)
  }

  /** kill -9 of the containers with a name. */
  async killContainers(name: string): Promise<void> {
    const ctr = `ctr -a ${CONTAINERD} -n k8s.io`
    const filter = `labels."io.kubernetes.container.name"==${name}`
    const all = `$(${ctr} containers ls -q '${filter}')`
    // Those that have ended are listed, too.
    await this.run(`for one in ${all}; do ${ctr} tasks kill -s SIGKILL $one || true; done`)
  }

  /** As if it lost its power. */
  async powerOff(): Promise<void> {
    await this.#machine?.powerOff()
    this.#machine = undefined
    for (const program of this.#programs) await program.kill()
  }

  /** The last lines of its programs, for the message of a failure. */
  logs(): string {
    return this.#programs.map((program) => program.tail()).join('\n---\n')
  }

  #object(): Promise<NodeObject> {
    return this.#plane.kubectl.get<NodeObject>('node', this.name)
  }

  #until<T>(what: string, probe: () => Promise<T | undefined | false>): Promise<T> {
    const ended = (): boolean => this.#programs.some((program) => !program.isRunning())
    const watched = async (): Promise<T | undefined | false> => {
      const value = await probe()
      if (ended()) throw new Error('a program of the node has ended')
      return value
    }
    const why = (): string => this.logs()
    return eventually(`${this.name}: ${what}`, watched, { timeoutMs: READY_MS, why })
  }

  #kubelet(): readonly string[] {
    const { v4, v6 } = this.addresses
    return [
      upstreamProgram('kubelet'),
      '--config=/var/lib/kubelet/config.yaml',
      '--kubeconfig=/var/lib/kubelet/kubeconfig',
      '--cert-dir=/var/lib/kubelet/pki',
      '--container-runtime=remote',
      `--container-runtime-endpoint=unix://${CONTAINERD}`,
      `--pod-infra-container-image=${TEST_IMAGE}`,
      `--hostname-override=${this.name}`,
      `--node-ip=${v4},${v6}`,
      '--v=2',
    ]
  }

  async #writeFiles(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true })
    const files = {
      kubeconfig: await this.#plane.kubeconfigOf(this.name),
      'ca.crt': this.#plane.ca,
      'config.yaml': stringify(KUBELET),
      'containerd.toml': containerdConfig(),
      'resolv.conf': `nameserver ${LAN.v4}\n`,
    }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text, { mode: 0o600 })
    }
  }
}

const KUBELET = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: false },
    x509: { clientCAFile: '/var/lib/kubelet/ca.crt' },
  },
  // It asks the API server.
  authorization: { mode: 'Webhook' },
  cgroupDriver: 'cgroupfs',
  clusterDNS: [CLUSTER_DNS],
  clusterDomain: 'cluster.local',
  resolvConf: '/var/lib/kubelet/resolv.conf',
  volumePluginDir: '/var/lib/kubelet/volume-plugins',
  featureGates: { IPv6DualStack: true },
  failSwapOn: false,
  oomScoreAdj: 0,
  // The disk is the machine's, and no image could be pulled again.
  evictionHard: { 'memory.available': '1Mi' },
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  // A changed ConfigMap is in its volume after at most so long, instead of a minute.
  syncFrequency: '10s',
  nodeStatusUpdateFrequency: '4s',
}

/** Also for machines that may not lower the scores by which the kernel chooses what to kill. */
export function containerdConfig(): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "${CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${TEST_IMAGE}"
  restrict_oom_score_adj = ${!mayLowerOomScore()}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`
}

/** CAP_SYS_RESOURCE, by capabilities(7). */
function mayLowerOomScore(): boolean {
  const [, mask = '0'] = /^CapEff:\t(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return ((BigInt(`0x${mask}`) >> 24n) & 1n) === 1n
}

/** A bridge with an address of each family for each Pod, and ports of the host. */
function cniOf(networks: readonly string[]): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'cluster',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: networks.map((subnet) => [{ subnet }]),
          routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  })
}
