/** A replacement in a file below the project's root; `from` must occur in it. */
export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** One fault planted in the source, and the kernel test that has to notice it. */
export interface Mutation extends Edit {
  readonly fault: string
  /** Further edits, if a second guard would hide the fault. */
  readonly also?: readonly Edit[]
  /** The test file below test/kernel; `only`: a pattern for the names of the tests to run. */
  readonly test: string
  readonly only?: string
}

export const MUTATIONS: readonly Mutation[] = [
  {
    fault: 'no hairpin rule',
    file: 'src/modes/netfilter/postrouting.ts',
    from: "settings.hairpin === 'bpf' ?",
    to: 'settings.masqueradeBit > 99 ?',
    test: 'hairpin',
  },
  {
    fault: 'nothing is masqueraded',
    file: 'src/modes/netfilter/postrouting.ts',
    from: '    clearMark(settings),\n    masquerade,\n',
    to: '    clearMark(settings),\n',
    test: 'source-address',
  },
  {
    fault: 'everything is masqueraded',
    file: 'src/modes/netfilter/postrouting.ts',
    from: '    `${isNotMarked(settings)}-j RETURN`,\n',
    to: '',
    test: 'source-address',
  },
  {
    fault: 'clients outside the cluster are not masqueraded to a ClusterIP',
    file: 'src/modes/iptables/render.ts',
    from: '    ...clusterIpMarks(entry, pool, settings),\n',
    to: '',
    test: 'rule-flows',
    only: 'plain: external to ClusterIP',
  },
  {
    fault: 'silence in place of refusal',
    file: 'src/modes/iptables/frontend.ts',
    from: "entry.whenEmpty[frontend.pool] === 'reject' ? rejectWith(entry) : '-j DROP'",
    to: "entry.whenEmpty[frontend.pool] === 'none' ? rejectWith(entry) : '-j DROP'",
    test: 'refusal',
  },
  {
    fault: 'refusal in place of silence',
    file: 'src/modes/iptables/frontend.ts',
    from: "entry.whenEmpty[frontend.pool] === 'reject' ? rejectWith(entry) : '-j DROP'",
    to: "entry.whenEmpty[frontend.pool] !== 'none' ? rejectWith(entry) : '-j DROP'",
    test: 'refusal',
  },
  {
    fault: 'source ranges are not enforced',
    file: 'src/modes/iptables/frontend.ts',
    from: '  if (frontend.sourceRanges) return [`${destination}-g ${firewallChain(entry, frontend)}`]\n',
    to: '',
    test: 'source-ranges',
  },
  {
    fault: 'sources outside the ranges pass on instead of being dropped',
    file: 'src/modes/iptables/frontend.ts',
    from: '  return [...answers, `${destination}-j DROP`]',
    to: '  return [...answers]',
    test: 'source-ranges',
  },
  {
    fault: 'external Local: pods do not take the short cut',
    file: 'src/modes/iptables/frontend.ts',
    from: '    ...(pods ? [`${pods.source}${pods.interface}${cluster}`] : []),\n',
    to: '',
    test: 'rule-flows',
    only: 'etp-local',
  },
  {
    fault: 'external Local: the node’s own packets are not masqueraded',
    file: 'src/modes/iptables/frontend.ts',
    from: '    FROM_NODE + setMark(settings),\n',
    to: '',
    test: 'rule-flows',
    only: 'etp-local: localhost',
  },
  {
    fault: 'uneven choice of endpoints',
    file: 'src/modes/iptables/render.ts',
    from: 'const probability = (Math.round(2 ** 31 / remaining) / 2 ** 31)',
    to: 'const probability = (Math.round(2 ** 31 / (remaining + 1)) / 2 ** 31)',
    test: 'distribution',
  },
  {
    fault: 'sticky clients are not remembered',
    file: 'src/modes/iptables/render.ts',
    from: 'const sticky = entry.affinity ? stickyRules(entry, backends, { chance, dnat }) : []',
    to: 'const sticky = entry.affinity ? stickyRules(entry, backends, { chance, dnat }).slice(-2 * backends.length) : []',
    test: 'affinity',
    only: 'keeps coming',
  },
  {
    fault: 'sticky clients are remembered for ever',
    file: 'src/modes/iptables/render.ts',
    from: '--timeout ${entry.affinity?.seconds ?? 0}',
    to: '--timeout 0',
    test: 'affinity',
    only: 'keeps coming',
  },
  {
    fault: 'only 100 clients are remembered, as by the recent match',
    file: 'src/modes/iptables/render.ts',
    from: 'CLIENTS_PER_BACKEND = 262_144',
    to: 'CLIENTS_PER_BACKEND = 100',
    test: 'affinity',
    only: '3,000',
  },
  {
    fault: 'flows of endpoints that are gone are not cut',
    file: 'src/nodeproxy/wiring/compose.ts',
    from: 'return cutFlows(flows, {',
    to: 'return cutFlows([], {',
    test: 'datagrams',
  },
  {
    fault: 'the daemon does not notice what other processes change',
    file: 'src/sync/sync-loop.ts',
    from: 'this.#stopWatching = this.#parts.mode.watch((change) => this.suspect(change))',
    to: 'this.#stopWatching = () => {}',
    test: 'drift',
    only: 'one endpoint deleted',
  },
  {
    fault: 'the kernel is written before the cluster is known',
    file: 'src/watch/cluster-watcher.ts',
    from: '  return {\n    async run(signal) {',
    to: '  setImmediate(onSynced)\n  return {\n    async run(signal) {',
    test: 'api-outage',
    only: 'started during the outage',
  },
  {
    fault: 'a daemon that starts clears the table first',
    file: 'src/sync/sync-loop.ts',
    from: '    this.#synced = true\n',
    to: '    this.#synced = true\n    void this.#parts.mode.cleanup()\n',
    test: 'under-load',
  },
  {
    fault: 'neighbours reach loopback services',
    file: 'src/modes/netfilter/filter-rules.ts',
    from: 'ESTABLISHED,DNAT -j DROP',
    to: 'ESTABLISHED,DNAT -j ACCEPT',
    test: 'rule-flows',
    only: 'packets from the wire',
  },
  {
    fault: 'special addresses are captured (CVE-2020-8554)',
    file: 'src/forwarding/frontends.ts',
    from: 'if (isSpecialAddress(ip)) {',
    to: "if (isSpecialAddress(ip) && ip === '') {",
    also: [
      {
        file: 'src/resources/address.ts',
        from: "(kind === 'host' && isSpecialAddress(ip))",
        to: "(kind === 'host' && isSpecialAddress(ip) && ip === '')",
      },
    ],
    test: 'external-addresses',
  },
  {
    fault: 'another Service’s ClusterIP is captured (CVE-2020-8554)',
    file: 'src/forwarding/claims.ts',
    from: 'if (owner !== undefined) return',
    to: "if (owner !== undefined && owner === '') return",
    test: 'external-addresses',
  },
  {
    fault: 'hints are ignored',
    file: 'src/forwarding/pools.ts',
    from: "  if (place === undefined) return 'unknownPlace'\n",
    to: "  if (place !== null) return 'unknownPlace'\n",
    test: 'policy-flows',
    only: 'topology',
  },
  {
    fault: 'node ports on all addresses, whatever nodePortAddresses says',
    file: 'src/modes/netfilter/settings/node-port-scope.ts',
    from: 'return configured.length === 0 ?',
    to: 'return configured.length >= 0 ?',
    test: 'node-ports',
  },
  {
    fault: 'node ports on loopback unasked',
    file: 'src/modes/netfilter/node-ports.ts',
    from: '...(serveLoopback ? [] : [`${loopback}-j RETURN`]),',
    to: "...(serveLoopback || loopback === '' ? [] : []),",
    test: 'node-ports',
    only: 'loopback is not served',
  },
]
