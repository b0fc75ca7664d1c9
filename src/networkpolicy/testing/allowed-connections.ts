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

export interface TestUniverse {
  readonly ends: readonly TestEnd[]
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly protocols: readonly string[]
  readonly ports: readonly number[]
}

/**
 * Every connection of a small set of ends that the policies admit, as `source>destination protocol/port`. It
 * enumerates: all connections, without those of isolated Pods, plus those that a rule admits. It shares no code with
 * the module under test.
 */
export function allowedConnections(
  universe: TestUniverse,
  policies: readonly TestPolicy[],
): ReadonlySet<string> {
  const outgoing = allowedIn('egress', universe, policies)
  const incoming = allowedIn('ingress', universe, policies)
  return outgoing.intersection(incoming)
}

function allowedIn(
  direction: 'ingress' | 'egress',
  universe: TestUniverse,
  policies: readonly TestPolicy[],
): Set<string> {
  const { ends, protocols, ports } = universe
  const allowed = new Set<string>()
  const isolated = new Set<string>()
  for (const policy of policies) {
    if (!typesOf(policy).includes(direction)) continue
    for (const own of selectedBy(policy, ends)) isolated.add(own.name)
  }
  for (const source of ends) {
    for (const target of ends) {
      const own = direction === 'egress' ? source : target
      for (const protocol of protocols) {
        for (const port of ports) {
          if (!isolated.has(own.name) || source === target)
            allowed.add(`${source.name}>${target.name} ${protocol}/${port}`)
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
  return allowed
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
  { ports = [] }: TestRule,
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
