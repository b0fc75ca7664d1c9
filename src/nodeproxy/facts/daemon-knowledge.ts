import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import type { DaemonFacts, NodeFacts } from '../../doctor/evidence/node-facts.ts'
import type { Entry, StatusResponse } from '../../inspection/generated/inspection_pb.ts'
import type { InspectionClient } from '../../inspection/inspection-client.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type Json, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { DESIRED_DOCUMENT, type DesiredRules } from '../inspection/desired-state.ts'

/**
 * Settings that should be the same on all nodes, because they decide what happens to packets to a Service. Addresses,
 * limits and files may differ by node. The configured mode is not among them: the active mode is compared.
 */
const SHARED = [
  'proxyName',
  'detectLocalMode',
  'detectLocal.bridgeInterface',
  'detectLocal.interfaceNamePrefix',
  'clusterCIDR',
  'allowedExternalIPs',
  'affinityScope',
  'iptables.masqueradeBit',
  'iptables.masqueradeAll',
  'nftables.masqueradeAll',
  'ipvs.scheduler',
] as const

type Configuration = NonNullable<NodeFacts['configuration']>

/** What the facts need from the running node-proxy. */
export interface DaemonKnowledge {
  readonly nodeName: string
  readonly version: string
  readonly facts: DaemonFacts
  readonly configuration: Configuration
  /** Undefined: the cluster is not listed yet. */
  readonly rules: DesiredRules | undefined
}

/** Reads the daemon, and calls `onEntry` with each entry. A string: why the daemon does not answer. */
export async function readDaemon(
  client: InspectionClient,
  onEntry: (entry: Entry) => void,
): Promise<DaemonKnowledge | string> {
  try {
    const status = await client.status()
    const documents = await readDocuments(client)
    for await (const entry of client.entries('')) onEntry(entry)
    return {
      nodeName: status.nodeName,
      version: status.version,
      facts: { ...factsOf(status), credentials: credentialsOf(documents.get('metrics.txt') ?? '') },
      configuration: configurationOf(documents.get('configuration.json') ?? '{}'),
      rules: rulesOf(documents.get(DESIRED_DOCUMENT)),
    }
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return error.message
  }
}

/** The documents by name. Of the desired state, which comes last and is large, only the first part. */
async function readDocuments(client: InspectionClient): Promise<ReadonlyMap<string, string>> {
  const documents = new Map<string, string>()
  for await (const { name, text } of client.documents()) {
    documents.set(name, (documents.get(name) ?? '') + text)
    if (name === DESIRED_DOCUMENT) break
  }
  return documents
}

function factsOf(status: StatusResponse): Omit<DaemonFacts, 'credentials'> {
  const { mode, isReady, startedAt, services, entries, backends, programming } = status
  return {
    mode,
    isReady,
    services,
    entries,
    backends,
    startedAt: Number(startedAt),
    changes: {
      count: programming?.count ?? 0,
      p50: programming?.p50Ms ?? 0,
      p99: programming?.p99Ms ?? 0,
    },
    reasons: status.reasons,
    reasonCodes: status.reasonCodes,
    warnings: status.warnings,
    policies: status.networkPolicies,
    announcements: status.announcement?.problems ?? [],
    routes: status.bgp?.problems ?? [],
    refusals: status.refusals.map(({ object, code, message }) => ({ object, code, message })),
    problems: status.problems.map(({ entry, code, message }) => ({ entry, code, message })),
  }
}

/** `nodeproxy_client_credential_expiration_timestamp_seconds{kind="certificate"} 1.7e9`. */
function credentialsOf(metrics: string): DaemonFacts['credentials'] {
  const lines = metrics.matchAll(
    /^nodeproxy_client_credential_(\w+)_timestamp_seconds\{kind="([\w-]+)"\} (\S+)$/gm,
  )
  const times = new Map(
    [...lines].map(([, moment, kind, seconds]) => [`${moment} ${kind}`, Number(seconds) * 1_000]),
  )
  return [...times].flatMap(([name, expiresAt]) => {
    const [moment, kind = ''] = name.split(' ')
    if (moment !== 'expiration') return []
    return [{ kind, expiresAt, lateFrom: times.get(`late ${kind}`) ?? expiresAt }]
  })
}

function configurationOf(text: string): Configuration {
  const config = objectAt(JSON.parse(text) as Json, 'config')
  return {
    mode: stringAt(config, 'mode'),
    scheduler: stringAt(config, 'ipvs', 'scheduler'),
    masqueradeAll: valueAt(config, 'iptables', 'masqueradeAll') === true,
    isOfDaemon: true,
    shared: sharedSettings(config),
  }
}

function rulesOf(document: string | undefined): DesiredRules | undefined {
  const [line = ''] = document?.split('\n', 1) ?? []
  return line === '' ? undefined : (JSON.parse(line) as DesiredRules)
}

/** The values of `SHARED` in a configuration, as JSON by their paths. */
function sharedSettings(config: Json): Readonly<Record<string, string>> {
  const settings = SHARED.map((path) => [path, valueAt(config, ...path.split('.'))] as const)
  return Object.fromEntries(
    settings.flatMap(([path, value]) =>
      value === undefined ? [] : [[path, JSON.stringify(value)]],
    ),
  )
}

/**
 * What a configuration file (YAML or JSON) says about the mode. It is not validated: the daemon does that at its start.
 * Undefined: no file is named. Rejects when the file cannot be read.
 */
export async function readConfigured(
  path: string | undefined,
): Promise<NodeFacts['configuration']> {
  if (path === undefined) return undefined
  const file = parse(await readFile(path, 'utf8')) as Json
  return {
    mode: stringAt(file, 'mode'),
    scheduler: stringAt(file, 'ipvs', 'scheduler'),
    masqueradeAll: valueAt(file, 'iptables', 'masqueradeAll') === true,
    isOfDaemon: false,
    shared: {},
  }
}
