/** One program of an image. */
interface Program {
  /** Its launcher is `bin/NAME`, its main file `src/…/main.ts`. */
  readonly name: string
}

/** What an image is made of. */
export interface Recipe {
  readonly name: string
  readonly description: string
  /** The first is the entry point. */
  readonly programs: readonly Program[]
  /** Whether it has the programs of `PROGRAMS` that read and write the kernel. */
  readonly hasKernelPrograms: boolean
  /** As whom it runs unless told otherwise. */
  readonly user: 'root' | 'nonroot'
  /** A folder that `nonroot` owns. */
  readonly dataFolder?: string
  readonly exposedPorts: readonly string[]
}

export const RECIPES: readonly Recipe[] = [
  {
    name: 'node-proxy',
    description:
      "The per-node Service proxy: watches Services and endpoints, and makes this node's kernel forward packets accordingly. With orch-dns, which answers the names of Services.",
    programs: [{ name: 'node-proxy' }, { name: 'orch-dns' }],
    hasKernelPrograms: true,
    // What it does to the kernel takes capabilities, which only root keeps over exec(2).
    user: 'root',
    exposedPorts: [],
  },
  {
    name: 'orch-server',
    description:
      'The control plane of a small cluster: an API server, its controllers and their store.',
    programs: [{ name: 'orch-server' }],
    hasKernelPrograms: false,
    user: 'nonroot',
    dataFolder: 'var/lib/orch-server',
    exposedPorts: ['6443/tcp'],
  },
]

/** Debian packages that files are taken of, and of what they depend on. */
export const PACKAGES = [
  'base-files',
  'ca-certificates',
  'conntrack',
  'coreutils',
  'ipset',
  'iproute2',
  'iptables',
  'kmod',
  'libatomic1',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'nftables',
  'procps',
]

/** Files of Debian packages in every image, beside the libraries of Node. */
export const BASE = {
  release: 'usr/lib/os-release',
  authorities: /^usr\/share\/ca-certificates\/mozilla\/.*\.crt$/,
}

/** What iptables loads by name, and no program is linked with. */
const EXTENSIONS = /^usr\/lib\/[^/]+\/xtables\/lib(?:xt|ipt|ip6t)_\w+\.so$/

/** iptables and ip6tables, each of either variant, and what saves and restores them. */
const IPTABLES = /^usr\/sbin\/ip6?tables-(?:nft|legacy)(?:-save|-restore)?$/

/**
 * What the daemon and its subcommands run: iptables and modprobe to change the kernel, the others to read it (explain,
 * record, facts, doctor). `sleep` waits in the DaemonSets of config/take-over.
 */
export const PROGRAMS: readonly RegExp[] = [
  EXTENSIONS,
  IPTABLES,
  /^usr\/s?bin\/(?:conntrack|ip|ipset|modprobe|nft|sleep|ss|sysctl)$/,
  /^etc\/iproute2\/\w+$/,
]

/** Links that Debian makes when it installs a package. */
export function alternatives(): readonly (readonly [path: string, target: string])[] {
  return ['iptables', 'ip6tables'].flatMap((family) =>
    ['', '-save', '-restore'].map(
      (suffix) => [`usr/sbin/${family}${suffix}`, `${family}-nft${suffix}`] as const,
    ),
  )
}

/** Files of packages that can be needed: libraries, licences, and what is named above. */
export function isWanted(path: string): boolean {
  const patterns = [
    /^usr\/lib\/(?:[^/]+\/)?[^/]+\.so(?:\.[\d.]+)?$/,
    /^usr\/lib64\/ld-/,
    /^usr\/bin\/kmod$/,
    /^usr\/sbin\/xtables-(?:nft|legacy)-multi$/,
    /^usr\/share\/doc\/[^/]+(?:\/copyright)?$/,
    BASE.authorities,
    ...PROGRAMS,
  ]
  return path === BASE.release || patterns.some((pattern) => pattern.test(path))
}
