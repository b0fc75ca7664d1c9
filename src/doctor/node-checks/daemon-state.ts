import { checkOfEachNode, type NodeFinding } from '../evidence/finding.ts'
import type { DaemonFacts, NodeFacts } from '../evidence/node-facts.ts'

/** No node-proxy answers: rules of an earlier one go stale, or nothing forwards packets to Services. */
export const daemonAbsent = checkOfEachNode('daemon-absent', (facts) => {
  if (facts.daemon !== undefined) return []
  const own = facts.rules.filter(({ own: count }) => count > 0)
  if (own.length === 0 && facts.proxies.length > 0) return []
  const isStale = own.length > 0
  return [
    {
      symptom: isStale ? 'Changes do not arrive' : 'Service not reachable',
      cause: isStale
        ? 'node-proxy does not answer, but its rules are in the kernel: they go stale'
        : 'no node-proxy runs, and its rules are not in the kernel',
      evidence: [facts.daemonAbsent, ...own.map(rulesText)],
      remedy:
        'start it, or see in its log why it ends; rules without a process are removed by node-proxy --cleanup',
      commands: ['kubectl -n kube-system get pods -o wide -l app=node-proxy', 'node-proxy status'],
    },
  ]
})

function rulesText({ program, own }: NodeFacts['rules'][number]): string {
  return `${own} rules of node-proxy are listed by ${program}`
}

/** Milliseconds in which a node-proxy that starts becomes ready, unless the API server refuses it. */
const START_MS = 30_000

/** Codes of reasons that a daemon has only until it has been ready once. */
const STARTING: ReadonlySet<string> = new Set(['not-listed', 'not-connected', 'not-applied'])

/** node-proxy runs and is not ready: the API server does not answer it, or a change does not get into the kernel. */
export const notReady = checkOfEachNode('not-ready', (facts) => {
  const { at, daemon } = facts
  if (daemon === undefined || daemon.isReady) return []
  const [first = 'no reason is known', ...more] = daemon.reasons
  const codes = codesOf(daemon)
  const isUnauthorized = codes[0] === 'unauthorized'
  // Negative if the clock of the node was set back since then.
  const runtime = at - daemon.startedAt
  const isStarting = runtime >= 0 && runtime < START_MS && !hasBeenReady(codes)
  if (isStarting && !isUnauthorized) return []
  if (isOfExpired(codes[0], facts)) return []
  return [
    {
      symptom: 'Changes do not arrive',
      cause: `node-proxy is not ready: ${first}`,
      evidence: [`${runtimeText(runtime)}; the kernel keeps the rules that it has`, ...more],
      remedy: isUnauthorized
        ? 'see why the API server rejects the token: it may be for another audience, or of an account that is gone'
        : 'the reason names what to repair; node-proxy catches up by itself',
      commands: [
        'node-proxy status',
        'curl -s 127.0.0.1:10249/readyz?verbose',
        ...(isUnauthorized ? ['orchctl doctor --token-file FILE'] : []),
      ],
    },
  ]
})

function runtimeText(ms: number): string {
  return ms < 0
    ? 'the clock of the node was set back since it started'
    : `it has run for ${Math.round(ms / 1_000)} s`
}

function hasBeenReady(codes: readonly string[]): boolean {
  return codes.length > 0 && !codes.some((code) => STARTING.has(code))
}

/** Whether an expired credential is why the API server refuses the daemon: TLS fails for a certificate alone. */
function isOfExpired(code: string | undefined, facts: NodeFacts): boolean {
  const expired = expiredKinds(facts)
  if (code === 'unauthorized') return expired.length > 0
  return code === 'tls' && expired.includes('certificate')
}

/** The codes of the reasons, in their order. The reasons of a daemon that sends no codes are recognized by their words. */
function codesOf({ reasons, reasonCodes }: DaemonFacts): readonly string[] {
  return reasonCodes.length === reasons.length ? reasonCodes : reasons.map(codeOfWords)
}

/** Daemons that send no codes all have these words. Empty: a code that nothing is decided by. */
function codeOfWords(reason: string): string {
  if (reason.includes(': 401 ')) return 'unauthorized'
  if (reason.includes('certificate expired')) return 'tls'
  return reason.endsWith(' yet') ? 'not-listed' : ''
}

/** The credential with which node-proxy reads the API has expired, or should have been renewed by now. */
export const expiredCredential = checkOfEachNode('expired-credential', ({ at, daemon }) =>
  (daemon?.credentials ?? [])
    .filter(({ expiresAt, lateFrom = expiresAt }) => at >= lateFrom)
    .map(({ kind, expiresAt }) => {
      const span = spanText(expiresAt - at)
      const when = expiresAt < at ? `expired ${span} ago` : `expires in ${span}`
      return {
        symptom: 'Changes do not arrive',
        cause: `the ${kind.replace('-', ' ')} of node-proxy ${when}: the API server will refuse it`,
        evidence: [
          `it ends at ${new Date(expiresAt).toISOString()}, by the clock of the node it is ${new Date(at).toISOString()}`,
        ],
        remedy:
          'give node-proxy a new one; a replaced file is read without a restart. Check the clock of the node, too',
        commands: ['curl -s 127.0.0.1:10249/metrics | grep credential', 'timedatectl'],
      }
    }),
)

/** The kinds of the credentials of node-proxy that have expired: `certificate`, `token`, `token-file` or `exec`. */
function expiredKinds({ at, daemon }: Pick<NodeFacts, 'at' | 'daemon'>): readonly string[] {
  return (daemon?.credentials ?? [])
    .filter(({ expiresAt }) => expiresAt < at)
    .map(({ kind }) => kind)
}

const UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const

/** `3 days`, `2 hours`, `90 minutes`, `20 s`. `ms` may be negative. */
function spanText(ms: number): string {
  const span = Math.abs(ms)
  const [size, unit] = UNITS.find(([one]) => span >= 2 * one) ?? [1_000, 's']
  return `${Math.round(span / size)} ${unit}`
}

/** The active mode is not the configured one, or `auto` found no better mode than userspace. */
export const wrongMode = checkOfEachNode('wrong-mode', ({ configuration, daemon, modules }) => {
  if (configuration === undefined || daemon === undefined || !configuration.isOfDaemon) return []
  const configured = configuration.mode === '' ? 'iptables' : configuration.mode
  const isFallback = configured === 'auto' && daemon.mode === 'userspace'
  if (!isFallback && (configured === 'auto' || configured === daemon.mode)) return []
  const states = ['nf_tables', 'ip_vs'].flatMap((name) =>
    modules[name] === undefined ? [] : [`module ${name}: ${modules[name]}`],
  )
  return [
    {
      symptom: configured === 'ipvs' ? 'IPVS mode has no effect' : 'Connection timeout',
      cause: isFallback
        ? 'mode auto took userspace, because the kernel offers no better one'
        : `mode ${configured} is configured, but ${daemon.mode} is at work`,
      evidence: [...states, ...daemon.warnings.slice(0, 3)],
      remedy: 'its log has one error for each thing that the kernel has not, with the remedy',
      commands: ['node-proxy status'],
    },
  ]
})

/** Load balancer addresses that no node announces on the network, or that another host answers for. */
export const unannouncedAddresses = checkOfEachNode('unannounced-addresses', ({ daemon }) =>
  (daemon?.announcements ?? []).map((problem) => ({
    symptom: 'External access fails',
    cause: problem,
    evidence: ['node-proxy of this node reports it'],
    remedy:
      'correct the setting or the network that it names; where another host answers for the address, take it from one of the two',
    commands: ['node-proxy status', 'kubectl -n kube-system get leases'],
  })),
)

/** Routers that are not told of load balancer addresses. */
export const unestablishedPeers = checkOfEachNode('unestablished-peers', ({ daemon }) =>
  (daemon?.routes ?? []).map((problem) => ({
    symptom: 'External access fails',
    cause: problem,
    evidence: ['node-proxy of this node reports it'],
    remedy:
      'correct announcement.bgp or the configuration of the router, which must have this node as a neighbor with its address and AS',
    commands: ['node-proxy status'],
  })),
)

/** Addresses of Services that are not served: claimed by another Service, or refused by the kernel. */
export const unservedServices = checkOfEachNode('unserved-services', ({ daemon }) =>
  daemon === undefined
    ? []
    : [...daemon.problems.map(ofProblem), ...daemon.refusals.map(ofRefusal)],
)

function ofProblem({ entry, code, message }: DaemonFacts['problems'][number]): NodeFinding {
  return {
    symptom: 'Service not reachable',
    cause: `${entry} is not served whole: ${message}`,
    evidence: [code],
    remedy: `the row of ${code} in docs/errors.md`,
    commands: [`node-proxy entries ${entry.split(':')[0] ?? ''}`],
    services: [entry.split(':')[0] ?? ''],
  }
}

function ofRefusal({ object, code, message }: DaemonFacts['refusals'][number]): NodeFinding {
  return {
    symptom: 'Service not reachable',
    cause: `the kernel refuses ${object}: ${message}`,
    evidence: [code],
    remedy: `the row of ${code} in docs/errors.md`,
    commands: ['node-proxy status'],
  }
}

/** Another Service proxy is on the node beside node-proxy, or what it left behind. */
export const foreignProxy = checkOfEachNode('foreign-proxy', ({ proxies, daemon }) =>
  daemon === undefined
    ? []
    : proxies.map(({ proxy, traces, pids, remedy }) => ({
        symptom: 'Service not reachable',
        cause: `${proxy} is on this node, too: ${pids.length > 0 ? `at work (pid ${pids.join(', ')})` : 'no process of it is to be seen, so its rules are stale'}`,
        evidence: traces,
        remedy: `${remedy}; the proxy that started last decides where packets go`,
        commands: ['node-proxy status', 'iptables -t nat -S PREROUTING'],
      })),
)
