import { type Command, Option } from 'commander'
import { parseUpstream, type Upstream } from '../../dns/forward/upstream/upstream.ts'
import type { JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isDnsName } from '../../resources/names.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { objectPath } from '../discovery/api-resource.ts'
import { type Catalogue, openCatalogue } from '../discovery/catalogue.ts'
import { endpointsResource } from '../discovery/endpoints-resource.ts'
import { jsonText } from '../output/documents.ts'
import { selectedObject } from '../selection/selected.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { ClusterObjects } from './cluster-objects.ts'
import { hintsOf } from './hints.ts'
import { findClusterServer, podResolver } from './pod-resolver.ts'
import { QUERY_TYPES, type Question, readQuestion } from './question.ts'
import type { Resolution } from './resolution.ts'
import { resolutionText } from './resolution-text.ts'
import { walk } from './walk.ts'

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

interface ResolveFlags {
  readonly from?: string
  readonly type?: string
  readonly output?: string
  readonly dnsServer?: string
  readonly clusterDomain: string
}

/** `orchctl resolve NAME`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<name>', 'a name, with a final dot if it is complete; or an address')
    .option('--from <pod>', 'pod/NAME that looks it up; default: a Pod of the namespace')
    .addOption(
      // In lower case, too; `readQuestion` refuses others.
      new Option('--type <type>', 'default: A and AAAA')
        .choices(QUERY_TYPES)
        .argParser((text) => text),
    )
    .option('--dns-server <address>', 'query this server, too: ADDRESS or ADDRESS:PORT')
    .option('--cluster-domain <domain>', 'the domain of Services', 'cluster.local')
    .option('-o, --output <format>', 'json')
    .addHelpText('after', ABOUT)
  runs<ResolveFlags>(command, context, resolve)
}

async function resolve(
  args: readonly string[],
  flags: ResolveFlags,
  context: CommandContext,
): Promise<ExitCode> {
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

interface Settings {
  readonly domain: string
  readonly server: Upstream | undefined
}

function readSettings({ output, dnsServer, clusterDomain }: ResolveFlags): Settings {
  if (output !== undefined && output !== 'json') {
    throw usageError(`-o ${quote(output)} is no output format`, 'write json')
  }
  const server = dnsServer === undefined ? undefined : parseUpstream(dnsServer)
  if (dnsServer !== undefined && server === undefined) {
    const message = `--dns-server ${quote(dnsServer)} is no address of a host`
    throw usageError(message, 'write ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT')
  }
  if (!isDnsName(clusterDomain)) {
    throw usageError(`--cluster-domain ${quote(clusterDomain)} is no name of DNS`)
  }
  return { server, domain: clusterDomain.replace(/\.$/, '').toLowerCase() }
}

interface Lookup extends Settings {
  readonly word: string
  readonly question: Question
  readonly from: string | undefined
}

async function resolutionOf(lookup: Lookup, context: CommandContext): Promise<Resolution> {
  const { word, question, domain, server } = lookup
  const { api } = await context.session()
  const catalogue = await openCatalogue(context)
  const [pod, clusterServer, endpoints] = await Promise.all([
    readPod(lookup.from, catalogue, context),
    findClusterServer(api),
    endpointsResource(catalogue),
  ])
  const serverAddresses = clusterServer.addresses
  const objects = new ClusterObjects({ api, endpoints, domain, serverAddresses })
  const { file, shown } = podResolver(pod, domain, clusterServer)
  const isOfCluster = shown.servers === 'cluster'
  const walked = await walk({
    ...{ question, file, objects, isOfCluster, server },
    signal: context.host.signal,
  })
  const hints = await hintsOf(question.name, walked, objects, api)
  return { name: word, resolver: shown, ...walked, hints }
}

/** The Pod that looks the name up; without one, an ordinary Pod of the namespace. */
async function readPod(
  from: string | undefined,
  catalogue: Catalogue,
  context: CommandContext,
): Promise<JsonObject> {
  const { api, namespace } = await context.session()
  if (from === undefined) return { metadata: { namespace }, spec: {} }
  const words = from.includes('/') ? [from] : ['pods', from]
  const { resource, name } = await selectedObject(words, catalogue)
  if (resource.kind !== 'Pod' || resource.group !== '') {
    throw usageError(`--from ${quote(from)} is no Pod`, 'write --from pod/NAME')
  }
  return api.send({ path: objectPath(resource, namespace, name) })
}
