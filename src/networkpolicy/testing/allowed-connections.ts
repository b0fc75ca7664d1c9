/** A Pod of the test, or an address without a Pod. */
export interface TestEnd {
  readonly name: string
  readonly ip: string
  /** Absent for an address without a Pod. */
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  /** Named ports by `protocol/name`. */
  readonly named?: Readonly<Record<string, number>>
}

interface TestSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
}

export interface TestPeer {
  readonly podSelector?: TestSelector
  readonly namespaceSelector?: TestSelector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

export interface TestPort {
  readonly protocol?: string
  readonly port?: number | string
  readonly endPort?: number
}

export interface TestRule {
  readonly from?: readonly TestPeer[]
  readonly to?: readonly TestPeer[]
  readonly ports?: readonly TestPort[]
}

export interface TestPolicy {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly spec: {
    readonly podSelector: TestSelector
    readonly policyTypes?: readonly string[]
    readonly ingress?: readonly TestRule[]
    readonly egress?: readonly TestRule[]
  }
}

export interface TestClusterPeer {
  readonly namespaces?: TestSelector
  readonly pods?: { readonly namespaceSelector: TestSelector; readonly podSelector: TestSelector }
  readonly networks?: readonly string[]
}

interface TestPortRange {
  readonly number?: number
  readonly range?: { readonly start: number; readonly end: number }
}

export interface TestClusterRule {
  readonly action: 'Accept' | 'Deny' | 'Pass'
  readonly from?: readonly TestClusterPeer[]
  readonly to?: readonly TestClusterPeer[]
  readonly protocols?: readonly {
    readonly tcp?: { readonly destinationPort: TestPortRange }
    readonly udp?: { readonly destinationPort: TestPortRange }
    readonly destinationNamedPort?: string
  }[]
}

export interface TestClusterPolicy {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly tier: 'Admin' | 'Baseline'
    readonly priority: number
    readonly subject: TestClusterPeer
    readonly ingress?: readonly TestClusterRule[]
    readonly egress?: readonly TestClusterRule[]
  }
}

export interface TestUniverse {
  readonly ends: readonly TestEnd[]
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly protocols: readonly string[]
  readonly ports: readonly number[]
}

/**
 * Every connection of a small set of ends that the policies admit, as `source>destination protocol/port`. It
 * enumerates: all connections, without those of isolated Pods and those that the tier Baseline denies, plus those that a
 * rule admits; then what the tier Admin decides. It shares no code with the module under test.
 */
export function allowedConnections(
  universe: TestUniverse,
  policies: readonly TestPolicy[],
  cluster: readonly TestClusterPolicy[] = [],
): ReadonlySet<string> {
  const outgoing = allowedIn('egress', universe, { policies, cluster })
  const incoming = allowedIn('ingress', universe, { policies, cluster })
  return outgoing.intersection(incoming)
}

function allowedIn(
  direction: 'ingress' | 'egress',
  universe: TestUniverse,
  { policies, cluster }: { policies: readonly TestPolicy[]; cluster: readonly TestClusterPolicy[] },
): Set<string> {
  const { ends, protocols, ports } = universe
  const allowed = new Set<string>()
  const isolated = new Set<string>()
  const [admin, baseline] = (['Admin', 'Baseline'] as const).map((tier) =>
    actionsOf(tier, direction, universe, cluster),
  )
  for (const policy of policies) {
    if (!typesOf(policy).includes(direction)) continue
    for (const own of selectedBy(policy, ends)) isolated.add(own.name)
  }
  for (const source of ends) {
    for (const target of ends) {
      const own = direction === 'egress' ? source : target
      for (const protocol of protocols) {
        for (const port of ports) {
          const connection = `${source.name}>${target.name} ${protocol}/${port}`
          const isDenied = baseline?.get(connection) === 'Deny'
          if ((!isolated.has(own.name) && !isDenied) || source === target) allowed.add(connection)
        }
      }
    }
  }
  for (const policy of policies) {
    if (!typesOf(policy).includes(direction)) continue
    for (const own of selectedBy(policy, ends)) {
      for (const rule of policy.spec[direction] ?? []) {
        for (const peer of peersOf(rule, policy, universe)) {
          const [source, target] = direction === 'egress' ? [own, peer] : [peer, own]
          for (const port of portsOf(rule, target, universe))
            allowed.add(`${source.name}>${target.name} ${port}`)
        }
      }
    }
  }
  for (const [connection, action] of admin ?? []) {
    const [source, target] = connection.split(' ')[0]!.split('>')
    if (action === 'Accept') allowed.add(connection)
    else if (action === 'Deny' && source !== target) allowed.delete(connection)
  }
  return allowed
}

/** The action of the first rule of a tier for each connection that one is about. */
function actionsOf(
  tier: 'Admin' | 'Baseline',
  direction: 'ingress' | 'egress',
  universe: TestUniverse,
  cluster: readonly TestClusterPolicy[],
): ReadonlyMap<string, TestClusterRule['action']> {
  const actions = new Map<string, TestClusterRule['action']>()
  const names = cluster.map(({ metadata }) => metadata.name).toSorted()
  for (let priority = 0; priority <= 1_000; priority++) {
    const same = cluster.filter(({ spec }) => spec.tier === tier && spec.priority === priority)
    for (const { spec } of names.flatMap((name) =>
      same.filter((one) => one.metadata.name === name),
    )) {
      for (const { action, from, to, protocols } of spec[direction] ?? []) {
        for (const own of clusterEnds(spec.subject, universe)) {
          for (const peer of (from ?? to ?? []).flatMap((one) => clusterEnds(one, universe))) {
            const [source, target] = direction === 'egress' ? [own, peer] : [peer, own]
            for (const port of portsOf({ ports: protocols?.flatMap(namedAs) }, target, universe)) {
              const connection = `${source.name}>${target.name} ${port}`
              if (!actions.has(connection)) actions.set(connection, action)
            }
          }
        }
      }
    }
  }
  return actions
}

/** The same ports as a NetworkPolicy writes them. */
function namedAs(one: NonNullable<TestClusterRule['protocols']>[number]): readonly TestPort[] {
  if (one.destinationNamedPort !== undefined) {
    return ['TCP', 'UDP'].map((protocol) => ({ protocol, port: one.destinationNamedPort! }))
  }
  const { number, range } = (one.tcp ?? one.udp)!.destinationPort
  const protocol = one.tcp === undefined ? 'UDP' : 'TCP'
  return [{ protocol, port: number ?? range!.start, endPort: number ?? range!.end }]
}

function clusterEnds(
  { namespaces: spaces, pods, networks }: TestClusterPeer,
  { ends, namespaces }: TestUniverse,
): readonly TestEnd[] {
  if (networks !== undefined) return ends.filter(({ ip }) => networks.some((one) => isIn(ip, one)))
  const selector = spaces ?? pods?.namespaceSelector ?? {}
  return ends.filter(
    ({ namespace, labels = {} }) =>
      namespace !== undefined &&
      hasLabels(namespaces[namespace]!, selector) &&
      hasLabels(labels, pods?.podSelector ?? {}),
  )
}

function typesOf({ spec }: TestPolicy): readonly string[] {
  if (spec.policyTypes !== undefined && spec.policyTypes.length > 0)
    return spec.policyTypes.map((type) => type.toLowerCase())
  return (spec.egress ?? []).length > 0 ? ['ingress', 'egress'] : ['ingress']
}

function selectedBy({ metadata, spec }: TestPolicy, ends: readonly TestEnd[]): readonly TestEnd[] {
  return ends.filter(
    ({ namespace, labels = {} }) =>
      namespace === metadata.namespace && hasLabels(labels, spec.podSelector),
  )
}

function hasLabels(labels: Readonly<Record<string, string>>, { matchLabels = {} }: TestSelector) {
  const written = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return Object.entries(matchLabels).every(([key, value]) => written.includes(`${key}=${value}`))
}

function peersOf(
  { from, to }: TestRule,
  { metadata }: TestPolicy,
  { ends, namespaces }: TestUniverse,
): readonly TestEnd[] {
  const peers = from ?? to ?? []
  if (peers.length === 0) return ends
  return peers.flatMap(({ podSelector, namespaceSelector, ipBlock }) => {
    if (ipBlock !== undefined) {
      const { cidr, except = [] } = ipBlock
      const taken = new Set(except.flatMap((one) => ends.filter(({ ip }) => isIn(ip, one))))
      return ends.filter((end) => isIn(end.ip, cidr) && !taken.has(end))
    }
    const spaces =
      namespaceSelector === undefined
        ? [metadata.namespace]
        : Object.keys(namespaces).filter((one) => hasLabels(namespaces[one]!, namespaceSelector))
    return spaces.flatMap((space) =>
      ends.filter(
        ({ namespace, labels = {} }) => namespace === space && hasLabels(labels, podSelector ?? {}),
      ),
    )
  })
}

/** `protocol/port` of each port that a rule enumerates. */
function portsOf(
  { ports = [] }: { readonly ports?: readonly TestPort[] | undefined },
  target: TestEnd,
  { ports: numbers, protocols }: TestUniverse,
): readonly string[] {
  if (ports.length === 0)
    return protocols.flatMap((protocol) => numbers.map((port) => `${protocol}/${port}`))
  return ports.flatMap(({ protocol = 'TCP', port, endPort }) => {
    if (port === undefined) return numbers.map((one) => `${protocol}/${one}`)
    if (typeof port === 'string') {
      const number = target.named?.[`${protocol}/${port}`]
      return number === undefined ? [] : [`${protocol}/${number}`]
    }
    const last = endPort ?? port
    return Array.from({ length: last - port + 1 }, (_, index) => `${protocol}/${port + index}`)
  })
}

/** Whether a block contains an IPv4 address, computed with numbers. */
function isIn(ip: string, cidr: string): boolean {
  const [address = '', bits] = cidr.split('/')
  const size = 2 ** (32 - Number(bits))
  return Math.floor(numberOf(ip) / size) === Math.floor(numberOf(address) / size)
}

function numberOf(ip: string): number {
  return ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}
