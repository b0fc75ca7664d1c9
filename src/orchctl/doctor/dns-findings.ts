import { parseUpstream, type Upstream } from '../../dns/forward/upstream/upstream.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { queryServer } from '../resolve/query-server.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'

/** A Service that every cluster has. */
const KNOWN = 'kubernetes.default.svc'
/** An external name that does not exist (RFC 6761); the server still needs its upstreams to say so. */
const NOWHERE = 'upstream-check.invalid'
/** The most external names that are looked up. */
const MAX_NAMES = 3

export interface DnsFlags {
  readonly dnsServer: string
  readonly clusterDomain: string
}

/**
 * Queries a DNS server of the cluster for the Service of the API, and for external names, which it forwards to its
 * upstreams: the targets of Services of type ExternalName, and one name that does not exist.
 */
export async function dnsFindings(
  { dnsServer, clusterDomain }: DnsFlags,
  evidence: ClusterEvidence,
  context: CommandContext,
): Promise<readonly Finding[]> {
  const server = parseUpstream(dnsServer)
  if (server === undefined) {
    const hint = 'write ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT'
    throw usageError(`--dns-server ${quote(dnsServer)} is no address of a host`, hint)
  }
  const name = `${KNOWN}.${clusterDomain}`
  const status = await statusOf(server, name, context)
  if (status !== 'NOERROR') return [finding('dns-answers', dnsServer, name, status)]
  const outside = namesOutside(evidence, clusterDomain)
  const replies = await Promise.all(
    [...outside, NOWHERE].map(async (one) => {
      return { name: one, status: await statusOf(server, one, context) }
    }),
  )
  // A server without upstreams refuses external names, which is a fault only if a Service has such a name.
  const failed = replies.find((one) => {
    const isRight = ['NOERROR', 'NXDOMAIN'].includes(one.status)
    return !isRight && !(one.name === NOWHERE && one.status === 'REFUSED')
  })
  return failed === undefined
    ? []
    : [finding('dns-upstream', dnsServer, failed.name, failed.status)]
}

async function statusOf(server: Upstream, name: string, { host }: CommandContext): Promise<string> {
  const { status } = await queryServer(server, name, 'A', host.signal)
  return status
}

function namesOutside(evidence: ClusterEvidence, domain: string): readonly string[] {
  const names = evidence
    .all('services')
    .filter((service) => stringAt(service, 'spec', 'type') === 'ExternalName')
    .map((service) => stringAt(service, 'spec', 'externalName').replace(/\.$/, ''))
  const outside = names.filter(
    (name) => name !== '' && !name.endsWith(`.${domain}`) && !name.endsWith('.svc'),
  )
  return [...new Set(outside)].slice(0, MAX_NAMES)
}

function finding(
  check: 'dns-answers' | 'dns-upstream',
  server: string,
  name: string,
  status: string,
): Finding {
  const isOfCluster = check === 'dns-answers'
  return {
    check,
    symptom: 'DNS resolution fails',
    affects: [],
    object: `dns/${server}`,
    cause: isOfCluster
      ? `the DNS server ${server} does not answer for the cluster`
      : `the DNS server ${server} answers for the cluster, and its upstreams fail`,
    evidence: [`the reply for ${name} is ${status}`],
    remedy: isOfCluster
      ? 'check that it runs, that its port is reached from here, and its domain (--cluster-domain)'
      : 'check the upstreams of the DNS server, and that it reaches them',
    commands: [`orchctl resolve ${name}. --dns-server ${server}`],
  }
}
