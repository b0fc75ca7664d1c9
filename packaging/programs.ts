/** A program that is packaged. */
export interface Program {
  readonly name: 'node-proxy' | 'orch-server' | 'orchctl'
  /** The first line of the description. */
  readonly summary: string
  readonly description: string
  readonly section: 'net' | 'admin'
  /** Debian packages without which it does not start or work, beside those of Node. */
  readonly depends: readonly string[]
  /** Debian packages that a part of its commands needs. */
  readonly recommends: readonly string[]
  readonly suggests: readonly string[]
  /** Units of `config/systemd`, of which the first is enabled and started. */
  readonly units: readonly string[]
  /** Files of `config`, by their names below `/etc`: an administrator changes them, and an upgrade keeps them. */
  readonly configuration: Readonly<Record<string, string>>
  /** Files of `config` that are installed beside the documentation. */
  readonly examples: readonly string[]
}

/** The libraries that Node is linked with, in the versions of the oldest Debian on which it is built. */
export const NODE_DEPENDS: readonly string[] = [
  'libc6 (>= 2.28)',
  'libstdc++6 (>= 6)',
  'libgcc-s1 | libgcc1',
  'libatomic1',
]

/** Each becomes a Debian package. */
export const PROGRAMS: readonly Program[] = [
  {
    name: 'node-proxy',
    summary: 'Service proxy of a cluster node',
    description: `Watches Services and their endpoints on an API server, and makes the kernel of this
machine forward packets accordingly, by nftables, iptables or IPVS.`,
    section: 'net',
    depends: ['iptables', 'kmod'],
    recommends: ['conntrack', 'ipset', 'iproute2', 'nftables', 'procps'],
    suggests: ['orchctl'],
    units: ['node-proxy.service'],
    configuration: { 'node-proxy/config.yaml': 'node-proxy.yaml' },
    examples: ['kubernetes/node-proxy/rbac.yaml', 'prometheus/alerts.yaml'],
  },
  {
    name: 'orch-server',
    summary: 'API server and controllers of a small cluster',
    description: `An API server that speaks the Kubernetes API, with the controllers that Services need,
in one process; durable on SQLite, or on etcd.`,
    section: 'admin',
    depends: ['adduser'],
    recommends: [],
    suggests: ['orchctl', 'node-proxy'],
    units: ['orch-server.service', 'orch-server-backup.service', 'orch-server-backup.timer'],
    configuration: { 'orch-server/config.yaml': 'orch-server.yaml' },
    examples: ['audit-policy.yaml', 'prometheus/orch-server-alerts.yaml'],
  },
  {
    name: 'orchctl',
    summary: 'command line of an API server',
    description: `Reads and changes the objects of a cluster, runs commands in Pods, and explains why a
Service does not work.`,
    section: 'admin',
    depends: [],
    recommends: [],
    suggests: ['bash-completion'],
    units: [],
    configuration: {},
    examples: [],
  },
]
