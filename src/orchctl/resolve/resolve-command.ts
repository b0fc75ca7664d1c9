import { type Command, Option } from 'commander'
import { parseUpstream, type Upstream } from '../../dns/forward/upstream/upstream.ts'
import { plainName } from '../../dns/wire/name.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isDnsName } from '../../resources/names.ts'
import type { ApiResource } from '../discovery/api-resource.ts'
import { type Catalogue, openCatalogue } from '../discovery/catalogue.ts'
import { podOf } from '../discovery/pods-of.ts'
import { jsonText } from '../output/documents.ts'
import { formatAmong } from '../output/output-format.ts'
import { columns } from '../output/server-table.ts'
import { oneLine } from '../output/terminal-text.ts'
import type { Api } from '../session/api.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { ClusterObjects } from './cluster-objects.ts'
import { findClusterServer, podResolver } from './pod-resolver.ts'
import { QUERY_TYPES, type Question, readQuestion, zoneNameOf } from './question.ts'
import type { Candidate, Origin, Resolution, ShownResolver, TypeAnswer } from './resolution.ts'
import { type Walked, walk } from './walk.ts'

const ABOUT = `
The answers follow from Services and endpoints, as the DNS server of the cluster computes
them. Nothing is sent to a DNS server without --dns-server.

Exit codes:
  0  the name has records, or is an alias that leaves the cluster
  1  it has none, or it is not known: another server decides, or objects cannot be read

Examples:
  orchctl resolve web --from pod/shop-1
  orchctl resolve _http._tcp.web.shop --type SRV
  orchctl resolve 10.96.0.10 --dns-server 10.96.0.53
`

/** The flags as commander passes them, not checked yet. */
interface ResolveFlags {
  readonly from?: string
  readonly type?: string
  readonly output?: string
  readonly dnsServer?: string
  readonly clusterDomain: string
}

/** Defines `orchctl resolve NAME`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<name>', 'a name, with a final dot if it is complete; or an address')
    .option('--from <pod>', 'pod/NAME that looks it up; default: a Pod of the namespace')
    .addOption(
      // `argParser` replaces the check of `choices`, because lower case is accepted, too. `readQuestion` checks the
      // type.
      new Option('--type <type>', 'default: A and AAAA')
        .choices(QUERY_TYPES)
        .argParser((text) => text),
    )
    .option('--dns-server <address>', 'query this server, too: ADDRESS or ADDRESS:PORT')
    .option('--cluster-domain <domain>', 'the domain of Services', 'cluster.local')
    .option('-o, --output <format>', 'json')
    .addHelpText('after', ABOUT)
  runs(command, context, resolve)
}

const resolve: Run<ResolveFlags> = async (args, flags, context) => {
  const [word = '', ...more] = args
  if (more.length > 0) throw usageError('there is more than one name', 'write resolve NAME')
  const question = readQuestion(word, flags.type)
  const settings = readSettings(flags)
  const resolution = await resolutionOf({ ...settings, word, question, from: flags.from }, context)
  context.print(
    flags.output === 'json'
      ? jsonText(resolution, { isTerminal: true })
      : resolutionText(resolution),
  )
  return resolution.resolved === '' ? 1 : 0
}

/** The flags after they were checked. */
interface Settings {
  /** The cluster domain, without the final dot. */
  readonly domain: string
  /** The server of `--dns-server`; undefined: no server is queried. */
  readonly server: Upstream | undefined
}

function readSettings({ output, dnsServer, clusterDomain }: ResolveFlags): Settings {
  formatAmong(output, 'json')
  const server = dnsServer === undefined ? undefined : parseUpstream(dnsServer)
  if (dnsServer !== undefined && server === undefined) {
    const message = `--dns-server ${quote(dnsServer)} is no address of a host`
    throw usageError(message, 'write ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT')
  }
  if (!isDnsName(clusterDomain)) {
    throw usageError(`--cluster-domain ${quote(clusterDomain)} is no name of DNS`)
  }
  return { server, domain: plainName(clusterDomain) }
}

/** What is to be resolved. */
interface Lookup extends Settings {
  /** The name as the user wrote it. */
  readonly word: string
  readonly question: Question
  /** The value of `--from`. */
  readonly from: string | undefined
}

async function resolutionOf(lookup: Lookup, context: CommandContext): Promise<Resolution> {
  const { word, question, domain, server } = lookup
  const { api } = await context.session()
  const catalogue = await openCatalogue(context)
  const [pod, clusterServer, endpoints] = await Promise.all([
    readPod(lookup.from, context),
    findClusterServer(api),
    endpointsResource(catalogue),
  ])
  const serverAddresses = clusterServer.addresses
  const objects = new ClusterObjects({ api, endpoints, domain, serverAddresses })
  const { file, shown } = podResolver(pod, domain, clusterServer)
  const isOfCluster = shown.servers === 'cluster'
  const walked = await walk({
    question,
    file,
    objects,
    isOfCluster,
    server,
    signal: context.host.signal,
  })
  const hints = await hintsOf(question.name, walked, objects, api)
  return { name: word, resolver: shown, ...walked, hints }
}

/** The Pod that looks up the name. Without `--from`: a Pod of the namespace that sets nothing in its spec. */
async function readPod(from: string | undefined, context: CommandContext): Promise<JsonObject> {
  const { namespace } = await context.session()
  if (from === undefined) return { metadata: { namespace }, spec: {} }
  return podOf([from], context, () =>
    usageError(`--from ${quote(from)} is no Pod`, 'write --from pod/NAME'),
  )
}

/** Hints for a user whose name has no records, or has records that the user does not expect. */
async function hintsOf(
  name: string,
  walked: Walked,
  objects: ClusterObjects,
  api: Api,
): Promise<string[]> {
  const own =
    walked.resolved === '' ? await sameNameHints(name, api) : resolvedHints(walked, objects)
  const answers = walked.candidates.flatMap((candidate) => candidate.answers)
  const isUnread = answers.some(({ status }) => status === 'UNKNOWN')
  // What a server replies to a forwarded query may come from its upstream.
  const isRefused = answers.some(
    ({ status, server }) => server?.status === 'REFUSED' && status !== 'FORWARDED',
  )
  return [
    ...own,
    ...(isUnread
      ? ['some objects cannot be read: orchctl auth can-i --list shows the rights']
      : []),
    ...(isRefused ? ['the server answers only clients of its --dns-client-networks'] : []),
    ...objects.problems,
  ]
}

/** The most names of Services in one hint. */
const MAX_NAMES = 5

/**
 * A hint that lists the Services, in any namespace, whose name is the first label of `name` that does not start with an
 * underscore. Empty if there are none, or if the user may not list Services.
 */
async function sameNameHints(name: string, api: Api): Promise<readonly string[]> {
  const service = name.split('.').find((label) => !label.startsWith('_')) ?? ''
  const query = { fieldSelector: `metadata.name=${service}`, limit: '50' }
  const answer = await api.request({ path: '/api/v1/services', query })
  if (!answer.ok) return []
  const namespaces = arrayAt(answer.value.body, 'items').map((one) =>
    stringAt(one, 'metadata', 'namespace'),
  )
  if (namespaces.length === 0) return []
  const names = namespaces.slice(0, MAX_NAMES).map((namespace) => `${service}.${namespace}`)
  return [`there is a Service ${service}: its name is ${names.join(' or ')}`]
}

/**
 * Hints for a name that resolves: an earlier name of the search list at which musl ends its search, because musl goes on
 * only after NXDOMAIN; and a Service without ready endpoints.
 */
function resolvedHints(
  { candidates, resolved }: Walked,
  objects: ClusterObjects,
): readonly string[] {
  const hints: string[] = []
  const earlier = candidates.find(
    ({ name, queried, answers }) =>
      queried && name !== resolved && answers.every(({ status }) => status === 'NODATA'),
  )
  if (earlier !== undefined) {
    hints.push(
      `musl (Alpine) ends its search at ${earlier.name}, which exists without such records`,
    )
  }
  const part = zoneNameOf(resolved, objects.domain)
  const service = part.kind === 'service' ? objects.service(part.key) : undefined
  if (service === undefined || service.clusterIPs.length === 0) return hints
  if (!objects.factsOf(service.key).some(({ isReady }) => isReady)) {
    hints.push(`Service ${service.key} has no ready endpoint: the name resolves, connections fail`)
  }
  return hints
}

/** The resolution as text: the resolver, each name with its records or why it has none, the result, and the hints. */
function resolutionText({ name, resolver, candidates, resolved, hints }: Resolution): string {
  const result =
    resolved === '' ? unresolvedText(name, candidates) : `${name} resolves, as ${resolved}.`
  const lines = [result, ...hints.map((hint) => `  ${hint}`)]
  const names = candidates.map(candidateText).join('')
  return `${resolverText(resolver)}\n${names}\n${lines.map((line) => `${oneLine(line)}\n`).join('')}`
}

function unresolvedText(name: string, candidates: readonly Candidate[]): string {
  const isForwarded = candidates.some(({ answers }) =>
    answers.some(({ status, server }) => status === 'FORWARDED' && server === null),
  )
  return isForwarded
    ? `${name} does not resolve in the cluster; other servers decide about names outside of it.`
    : `${name} does not resolve.`
}

function resolverText(resolver: ShownResolver): string {
  const { pod, node, dnsPolicy, nameservers, searches, options, notes } = resolver
  const place = node === '' ? '' : ` on node ${node}`
  const servers = { cluster: 'that of the cluster', node: 'those of the node', pod: 'none' }
  const rows = [
    ['Pod:', pod === '' ? 'any of the namespace' : `${pod}${place}`],
    ['DNS policy:', dnsPolicy],
    ['Nameservers:', nameservers.join(' ') || servers[resolver.servers]],
    ['Search:', searches.join(' ') || '<none>'],
    ['Options:', options.join(' ') || '<none>'],
    ...notes.map((note) => ['Note:', note]),
  ]
  return columns(rows)
}

function candidateText({ name, queried, answers }: Candidate): string {
  if (!queried) return `${oneLine(name)}.   not queried\n`
  const rows = mergedAnswers(answers).flatMap((answer) => rowsOf(answer, name))
  const table = columns(rows)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => `  ${line}\n`)
  return `${oneLine(name)}.\n${table.join('')}`
}

/** One answer in place of those to A and AAAA if neither type has records and the reason is the same. */
function mergedAnswers(answers: readonly TypeAnswer[]): readonly TypeAnswer[] {
  const [first, ...more] = answers
  const isSame = (one: TypeAnswer): boolean =>
    one.records.length === 0 && one.server === null && one.reason === first?.reason
  if (first === undefined || !answers.every(isSame)) return answers
  return [{ ...first, type: [first, ...more].map(({ type }) => type).join(' ') }]
}

function rowsOf(answer: TypeAnswer, candidate: string): readonly (readonly string[])[] {
  const { type, status, records, reason, server } = answer
  const own = records.map((record) => {
    const alias = record.name === candidate ? '' : `${record.name}: `
    return [record.type, record.data, alias + originText(record.origin)]
  })
  const denial = status === 'NOERROR' ? [] : [[type, status, reason]]
  return [...own, ...denial, ...(server === null ? [] : serverRows(type, server))]
}

function serverRows(
  type: string,
  { status, records, difference }: NonNullable<TypeAnswer['server']>,
): readonly (readonly string[])[] {
  const verdict = difference === '' ? 'as it should be' : `DIFFERENT: ${difference}`
  return [[type, `server: ${status}`, `${records.length} records, ${verdict}`]]
}

function originText({ kind, name, field, pod }: Origin): string {
  const place = field === '' ? '' : ` ${field}`
  return `${kind} ${name}${place}${pod === '' ? '' : `, Pod ${pod}`}`
}

/** The resource with the endpoints of Services: EndpointSlices, or v1 Endpoints where the server has none. */
async function endpointsResource(catalogue: Catalogue): Promise<ApiResource> {
  const slices = (await catalogue.all()).find(({ plural }) => plural === 'endpointslices')
  return slices ?? catalogue.named('endpoints')
}
